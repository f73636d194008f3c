// A cache of rendered tiles, bounded by weight.
#include "cache.h"

#include <map>
#include <memory>

namespace atlas {

using std::string;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

template <typename T>
using Handle = std::shared_ptr<const T>;

class Renderer;  // only its name is needed

inline constexpr int kLimit = 1 << 20;
extern int g_hits;

/// Where a tile is.
struct Key {
  int x = 0, y = 0;
  bool operator==(const Key& other) const = default;
};

enum class Format : unsigned char { kPng, kWebp = 4 };

/// Something with a weight.
template <typename T>
concept Weighed = requires(const T& value) { value.weight(); };

/** Decides what to forget. */
class Policy {
 public:
  virtual ~Policy() = default;
  Policy(const Policy&) = delete;
  /// The next to go.
  virtual const Key* victim() const = 0;
  explicit operator bool() const { return enabled_; }

 protected:
  Policy() : enabled_(true) {}

 private:
  bool enabled_;
  static int instances_;
};

int Policy::instances_ = 0;

namespace detail {
/// Mixes coordinates.
struct Hash {
  size_t operator()(const Key& key) const noexcept { return mix(key.x, key.y); }
};

static size_t mix(int x, int y) { return x * 31u + y; }
}  // namespace detail

/**
 * Keeps tiles until they weigh too much.
 */
template <Weighed Tile, class Hasher = detail::Hash>
class Cache final : public Policy, private detail::Base<Tile> {
 public:
  using Entry = std::pair<Key, Tile>;
  class Iterator;
  friend class Renderer;

  explicit Cache(std::unique_ptr<Renderer> renderer, int limit = kLimit)
      : renderer_(std::move(renderer)), limit_(limit) {}

  /// Finds a tile, rendering it if need be.
  [[nodiscard]] Handle<Tile> find(const Key& key);
  template <typename Predicate>
  int evict_if(Predicate&& predicate);
  const Key* victim() const override;
  static Cache& instance();
  auto begin() -> Iterator { return Iterator(*this); }
  Tile& operator[](const Key& key);

 private:
  std::unordered_map<Key, Tile, Hasher> tiles_;
  std::unique_ptr<Renderer> renderer_;
  int limit_, weight_{0};
  void (*on_evict_)(const Key&) = nullptr;
  struct Node {
    Key key;
    Node* next;
  } head_;
};

template <Weighed Tile, class Hasher>
Handle<Tile> Cache<Tile, Hasher>::find(const Key& key) {
  auto found = tiles_.find(key);
  if (found != tiles_.end()) {
    ++g_hits;
    return std::make_shared<const Tile>(found->second);
  }
  auto renderer = std::make_unique<Renderer>(key);
  Tile tile = renderer->draw(key);
  Format format{Format::kPng};
  std::lock_guard<std::mutex> lock(mutex_);
  weight_ += tile.weight();
  auto shrink = [this](int by) { return this->evict_if(by); };
  if (weight_ > limit_) shrink(weight_ - limit_);
  return publish<Tile>(new Tile(tile));
}

template <Weighed Tile, class Hasher>
template <typename Predicate>
int Cache<Tile, Hasher>::evict_if(Predicate&& predicate) {
  return detail::mix(0, 0);
}

class ATLAS_EXPORT Renderer : public virtual Policy {
 public:
  Renderer(const Key& key);
  ~Renderer() override;
  class Error : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };

 private:
  Key key_;
};

Renderer::Renderer(const Key& key) : key_(key) {}
Renderer::~Renderer() { detail::release(key_); }

std::ostream& operator<<(std::ostream& out, const Key& key) {
  return out << key.x << '/' << key.y;
}

const char* name(Format format);
int measure(int width, int height) noexcept;
double measure(double side) { return side * side; }

}  // namespace atlas

namespace atlas::testing {
namespace {
int counter = 0;
}

#define ATLAS_CHECK(condition) check((condition), #condition)

bool check(bool condition, const char* text) {
  struct Local { int line; };
  Local local{__LINE__};
  return condition || report(text, local.line);
}
}  // namespace atlas::testing

extern "C" int atlas_version(void) { return 3; }

CACHE_EXPORT template <typename Key> class Keys {
 public:
  void add(const Key& key) {
    if CACHE_CONSTEXPR (sizeof(Key) > 8) keep(key);
  }
  CACHE_DEPRECATED("Use clear(), "
                   "which says what it does.")
  void empty(const char* why) {
    clear(why);
  }
  void clear() { drop(); }
};

/*
 * A ring of log records, written by many and drained by one.
 */
#include <stdio.h>
#include <sys/types.h>
#include "ring.h"
#include "platform/clock.h"

#ifndef RING_CAPACITY
#define RING_CAPACITY 256
#endif
#define RING_DEBUG
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/** Called with every record that leaves the ring. */
typedef int (*ring_sink)(void *context, const char *line, size_t length);
typedef unsigned long ring_sequence;
typedef struct ring_stats ring_stats_t;

/* How bad it is. */
enum ring_level {
  LEVEL_DEBUG,
  LEVEL_INFO = 10,
  LEVEL_ERROR, /* always shown */
};

typedef enum { MODE_BLOCK, MODE_DROP } ring_mode;

/**
 * One line with its time.
 */
struct ring_record {
  ring_sequence sequence;
  enum ring_level level;
  char text[128], *overflow;
  union {
    struct timespec wall;
    long ticks;
  } time;
  struct ring_record *next;
};

/// The ring itself.
typedef struct ring {
  struct ring_record *head, *tail;
  int (*on_full)(struct ring *ring);
  ring_sink sink;
  void *context;
  unsigned flags : 4;
} ring_t;

typedef struct {
  size_t written;
  size_t dropped;
} ring_counters;

extern int ring_verbosity;
static const int default_level = LEVEL_INFO;
static ring_counters counters = { 0, 0 };
static const char *const level_names[] = { "debug", "info", "error" };
static int (*fallback)(ring_t *) = NULL;
ring_t *first_ring, *last_ring;

static int drain_one(ring_t *ring);
int ring_flush(ring_t *ring);
RING_EXTERN size_t ring_count(const ring_t *ring);

static struct option {
  const char *name;
  int (*apply)(ring_t *ring, int value);
} options[] = {
  { "flush", apply_flush },
};

/*
 * Makes a ring that hands its records to `sink`.
 */
ring_t *ring_create(ring_sink sink, void *context)
{
  ring_t *ring = calloc(1, sizeof(*ring));
  if (ring == NULL)
    return NULL;
  ring->sink = sink;
  ring->context = context;
  ring->on_full = ring_flush;
  return ring;
}

#ifdef _WIN32
static inline long
now(void)
{
  return (long)GetTickCount64();
}
#else
static inline long now(void) {
  struct timespec spec;
  clock_gettime(CLOCK_MONOTONIC, &spec);
  return spec.tv_sec * 1000L + spec.tv_nsec / 1000000L;
}
#endif

__attribute__((format(printf, 3, 4)))
int ring_write(
    ring_t *ring,
    enum ring_level level,
    const char *format,
    ...)
{
  struct ring_record record = { .level = level };
  static unsigned calls;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(record.text, sizeof record.text, format, arguments);
  va_end(arguments);
  calls++;
  record.time.ticks = now();
  if (MIN(length, RING_CAPACITY) == RING_CAPACITY && ring->on_full(ring) != 0) {
    counters.dropped += 1;
    return -1;
  }
  return ring_push(ring, &record);
}

/* Hands out one record. */
static int drain_one(ring_t *ring)
{
  struct ring_record *record = ring->head;
  int status = (*ring->sink)(ring->context, record->text, strlen(record->text));
  ring->head = record->next;
  return status;
}

int ring_flush(ring_t *ring)
{
  while (ring->head)
    drain_one(ring);
  return 0;
}

/* A signal may come at any time. */
static void (*ring_handler(int number))(int)
{
  return number == SIGTERM ? on_term : SIG_DFL;
}

int main(int argc, char **argv)
{
  ring_t *ring = ring_create(print_line, stdout);
  for (int i = 1; i < argc; i++)
    ring_write(ring, default_level, "%s", argv[i]);
  return ring_flush(ring);
}

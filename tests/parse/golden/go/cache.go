// Package cache keeps what is dear to compute.
package cache

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	. "math/bits"
	"sync"
	gotime "time"

	"example.com/acme/log"
)
import "io"

// ErrMissing is returned for keys nobody stored.
var ErrMissing = errors.New("cache: missing")

//go:embed banner.txt
var banner string

const defaultSize = 1 << 10

// Levels of eviction.
const (
	// LevelNone keeps everything.
	LevelNone Level = iota
	LevelSoft
	LevelHard, levelMax
	_
)

var (
	mu, other sync.Mutex
	// shared is the cache of the process.
	shared = &Cache[string, []byte]{size: defaultSize}
	now    = func() gotime.Time { return gotime.Now() }
)

var _ Store[string, int] = (*Cache[string, int])(nil)

// Level says how eager eviction is.
type Level int

// String names a level.
func (l Level) String() string {
	switch l {
	case LevelNone:
		return "none"
	default:
		return fmt.Sprintf("level %d", int(l))
	}
}

type (
	// Loader computes what is missing.
	Loader[K comparable, V any] func(ctx context.Context, key K) (V, error)

	Key = string

	number interface {
		~int | ~int64
		fmt.Stringer
	}
)

// Store is where values are kept.
type Store[K comparable, V any] interface {
	io.Closer
	// Get finds a value.
	Get(ctx context.Context, key K) (value V, err error)
	Put(K, V)
	sizer
}

type sizer interface{ Size() int }

// entry is one value with its age.
type entry[V any] struct {
	value  V
	born   gotime.Time
	before, after *entry[V]
}

/*
Cache is a Store that forgets.
*/
type Cache[K comparable, V any] struct {
	sync.RWMutex
	*log.Logger
	options
	size    int `json:"size"`
	entries map[K]*entry[V]
	load    Loader[K, V]
	stats   struct {
		hits, misses uint64
	}
}

type options struct{ onEvict func(key any) }

// New makes a cache of a size.
func New[K comparable, V any](
	size int,
	load Loader[K, V],
	apply ...func(*options),
) (*Cache[K, V], error) {
	if size <= 0 {
		return nil, fmt.Errorf("cache: size %d", size)
	}
	cache := &Cache[K, V]{size: size, load: load, entries: make(map[K]*entry[V])}
	for _, each := range apply {
		each(&cache.options)
	}
	return cache, nil
}

// Get finds a value or loads it.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (V, error) {
	c.RLock()
	defer c.RUnlock()
	if found, ok := c.entries[key]; ok {
		c.stats.hits++
		return found.value, nil
	}
	const attempts = 3
	var zero V
	retry := func(times int) (V, error) {
		for range times {
			if value, err := c.load(ctx, key); err == nil {
				return value, nil
			}
		}
		return zero, ErrMissing
	}
	return retry(attempts)
}

func (c *Cache[K, V]) Put(key K, value V) {
	fresh := entry[V]{value: value, born: now()}
	clock := new(gotime.Timer)
	logger := log.Default()
	go func() {
		logger.With("key", key).Info("stored", clock)
	}()
	c.entries[key] = &fresh
}

func (Cache[K, _]) Size() int { return Len(uint(defaultSize)) }

// Close is part of io.Closer.
func (c *Cache[_, _]) Close() (err error) { return }

func sum[T number](values ...T) (total T) {
	for _, value := range values {
		total += value
	}
	return max(total, Convert[T](0))
}

// checksum is written in assembly.
func checksum(data []byte) uint32

func init() {
	mu.Lock()
	if closer, ok := any(shared).(io.Closer); ok {
		_ = closer.Close()
	}
}

func init() { tests := []struct{ name Key }{{"a"}}; _, _ = tests, banner }

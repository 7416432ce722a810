package cache

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// A Keyed caches one answer for each key. It holds a bounded number of answers and
// drops the least recently used ones: keys may come from users.
type Keyed[K comparable, V any] struct {
	clock   clock.PassiveClock
	calls   sharedcall.Group[V]
	answers *lru.Cache // answer by K
}

type answer[V any] struct {
	value V
	until time.Time
}

// NewKeyed returns an empty cache for that many answers.
func NewKeyed[K comparable, V any](clk clock.PassiveClock, size int) *Keyed[K, V] {
	return &Keyed[K, V]{clock: clk, answers: lru.New(size)}
}

// Get returns the answer for key. Without a fresh one it calls load, which also
// returns the lifetime of its answer. Errors are not cached.
func (c *Keyed[K, V]) Get(ctx context.Context, key K, load func(context.Context) (V, time.Duration, error)) (V, error) {
	if value, fresh := c.Fresh(key); fresh {
		return value, nil
	}
	return c.calls.Do(ctx, fmt.Sprintf("%#v", key), func(ctx context.Context) (V, error) {
		if value, fresh := c.Fresh(key); fresh { // another call has just ended
			return value, nil
		}
		value, ttl, err := load(ctx)
		if err == nil {
			c.Put(key, value, ttl)
		}
		return value, err
	})
}

// Fresh returns the cached answer if its lifetime has not ended.
func (c *Keyed[K, V]) Fresh(key K) (V, bool) {
	a, cached := c.get(key)
	return a.value, cached && c.clock.Now().Before(a.until)
}

// Last returns the cached answer, even after its lifetime.
func (c *Keyed[K, V]) Last(key K) (V, bool) {
	a, cached := c.get(key)
	return a.value, cached
}

func (c *Keyed[K, V]) get(key K) (answer[V], bool) {
	a, cached := c.answers.Get(key)
	if !cached {
		return answer[V]{}, false
	}
	return a.(answer[V]), true //nolint:forcetypeassert // the cache holds nothing else
}

// Put caches an answer.
func (c *Keyed[K, V]) Put(key K, value V, ttl time.Duration) {
	c.answers.Add(key, answer[V]{value: value, until: c.clock.Now().Add(ttl)})
}

// Len is the number of answers.
func (c *Keyed[K, V]) Len() int { return c.answers.Len() }

// Forget drops the answer for key.
func (c *Keyed[K, V]) Forget(key K) { c.answers.Remove(key) }

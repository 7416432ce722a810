package cache

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// ListOptions describe the items of a List, and their source.
type ListOptions[T any] struct {
	Clock clock.PassiveClock
	// Key identifies an item.
	Key func(T) string
	// Load returns all items.
	Load func(context.Context) ([]T, error)
	// TTL is the lifetime of a load. Without one it ends with Invalidate only.
	TTL time.Duration
}

// A List caches a list of resources, and overlays it with own writes.
type List[T any] struct {
	opts  ListOptions[T]
	loads sharedcall.Group[struct{}]

	mu    sync.Mutex
	valid bool
	// generation counts invalidations. A load that began before the last one is
	// not used.
	generation    int
	began, loaded time.Time
	items         map[string]T
	overlay       map[string]write[T]
	deleted       *lru.Cache // keys of resources that this process has deleted
	// replay holds the writes since the current load began, which may not show them.
	replay []func()
}

// maxDeleted is how many deleted resources are remembered. A cluster deletes few at a time.
const maxDeleted = 1000

// write is an own write that a load may not show yet.
type write[T any] struct {
	item    T
	removed bool
	at      time.Time
}

// NewList returns a List that loads at the first use.
func NewList[T any](opts ListOptions[T]) *List[T] {
	return &List[T]{opts: opts, items: map[string]T{}, overlay: map[string]write[T]{}, deleted: lru.New(maxDeleted)}
}

// All returns the items, sorted by key.
func (l *List[T]) All(ctx context.Context) ([]T, error) {
	var all []T
	err := l.read(ctx, func() {
		for _, key := range slices.Sorted(maps.Keys(l.items)) {
			all = append(all, l.items[key])
		}
	})
	return all, err
}

// Get returns the item with that key.
func (l *List[T]) Get(ctx context.Context, key string) (item T, found bool, err error) {
	err = l.read(ctx, func() { item, found = l.items[key] })
	return item, found, err
}

// read loads the items unless they are fresh, and calls use with them.
func (l *List[T]) read(ctx context.Context, use func()) error {
	for {
		l.mu.Lock()
		if l.fresh() {
			use()
			l.mu.Unlock()
			return nil
		}
		generation := l.generation
		l.mu.Unlock()
		_, err := l.loads.Do(ctx, strconv.Itoa(generation), func(ctx context.Context) (none struct{}, err error) {
			return none, l.load(ctx, generation)
		})
		if err != nil {
			return err
		}
	}
}

func (l *List[T]) fresh() bool {
	return l.valid && (l.opts.TTL == 0 || l.opts.Clock.Since(l.loaded) <= l.opts.TTL)
}

func (l *List[T]) load(ctx context.Context, generation int) error {
	l.mu.Lock()
	done := l.fresh() || generation != l.generation // another call has just loaded
	if !done {
		l.valid, l.began, l.replay = false, l.opts.Clock.Now(), nil
	}
	l.mu.Unlock()
	if done {
		return nil
	}
	loaded, err := l.opts.Load(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if generation != l.generation {
		return nil
	}
	l.valid, l.loaded = true, l.opts.Clock.Now()
	l.items = make(map[string]T, len(loaded))
	for _, item := range loaded {
		l.items[l.opts.Key(item)] = item
	}
	l.applyOverlay()
	for _, apply := range l.replay {
		apply()
	}
	l.replay = nil
	return nil
}

// applyOverlay applies own writes to a load that may not show them yet. An item that
// is listed is taken as listed: others write too.
func (l *List[T]) applyOverlay() {
	for key, w := range l.overlay {
		_, listed := l.items[key]
		switch {
		case l.began.Sub(w.at) > awsx.ConsistencyWindow, listed && !w.removed:
			delete(l.overlay, key)
		case w.removed:
			delete(l.items, key)
		default:
			l.items[key] = w.item
		}
	}
}

// change applies a write to the items, and again to those that are being loaded.
func (l *List[T]) change(apply func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	apply()
	if !l.valid {
		l.replay = append(l.replay, apply)
	}
}

// addWrite drops expired writes when there are many: a list without TTL may not be
// loaded for long.
func (l *List[T]) addWrite(key string, w write[T]) {
	if len(l.overlay) >= maxDeleted {
		maps.DeleteFunc(l.overlay, func(_ string, old write[T]) bool { return w.at.Sub(old.at) > awsx.ConsistencyWindow })
	}
	l.overlay[key] = w
}

// Put adds an item that was just created, written or read, or replaces it.
func (l *List[T]) Put(item T) {
	key, now := l.opts.Key(item), l.opts.Clock.Now()
	l.change(func() {
		l.addWrite(key, write[T]{item: item, at: now})
		l.items[key] = item
		l.deleted.Remove(key)
	})
}

// Update replaces an item of the last load. It lasts until the next load.
func (l *List[T]) Update(item T) {
	key := l.opts.Key(item)
	l.change(func() {
		if _, listed := l.items[key]; listed {
			l.items[key] = item
		}
	})
}

// MarkDeleted records that we have deleted the item, which AWS may list for a while.
func (l *List[T]) MarkDeleted(key string) {
	l.change(func() {
		delete(l.overlay, key)
		l.deleted.Add(key, nil)
	})
}

// Remove removes an item that no longer exists.
func (l *List[T]) Remove(key string) {
	now := l.opts.Clock.Now()
	l.change(func() {
		l.addWrite(key, write[T]{removed: true, at: now})
		delete(l.items, key)
		l.deleted.Add(key, nil)
	})
}

// IsUnaccounted is true for a key that is not listed and that we have not deleted.
func (l *List[T]) IsUnaccounted(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, deleted := l.deleted.Get(key)
	_, listed := l.items[key]
	return key != "" && !deleted && !listed
}

// Forget drops one item, when an answer of AWS contradicts its cached state. It is not
// found until the next load. The caller reads it alone, which costs less than a load
// of all items.
func (l *List[T]) Forget(key string) {
	l.change(func() {
		delete(l.overlay, key)
		delete(l.items, key)
	})
}

// Invalidate makes the next read load, unless the last load is younger than age:
// callers that wait for the same thing share the load of the first.
func (l *List[T]) Invalidate(age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.loaded
	if !l.valid {
		last = l.began // a load may be under way
	}
	if age == 0 || l.opts.Clock.Since(last) >= age {
		l.valid = false
		l.generation++
	}
}

// Age is the time since the last load.
func (l *List[T]) Age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opts.Clock.Since(l.loaded)
}

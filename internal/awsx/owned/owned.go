// Package owned remembers which AWS resources of one kind belong to one
// cluster. All services of the cluster share one look by owner tag, and nobody
// looks again until somebody has reason to: a write, a refusal, a wait, or the
// resync.
package owned

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// settling is how long a list of AWS may miss what has just been made. For so
// long what we made counts as there, or we would make it twice.
const settling = time.Minute

// A List is what was seen at the last look, and what we made since.
type List[T any] struct {
	clock clock.PassiveClock
	id    func(T) string
	look  func(context.Context) ([]T, error)
	looks sharedcall.Group[struct{}]

	mu    sync.Mutex
	known bool
	at    time.Time
	items []T
	made  map[string]made[T]
	ended *lru.Cache
	// invalidated counts the calls of Forget: a look that began before the last
	// one is not used. writes are those since the current look began, which may
	// not show them.
	invalidated int
	began       time.Time
	writes      []func()
}

// maxEnded is how many deleted resources are remembered. A cluster has a few at a time.
const maxEnded = 1000

type made[T any] struct {
	item T
	at   time.Time
}

// New returns a List that nobody has looked at yet.
func New[T any](clk clock.PassiveClock, id func(T) string, look func(context.Context) ([]T, error)) *List[T] {
	return &List[T]{clock: clk, id: id, look: look, made: map[string]made[T]{}, ended: lru.New(maxEnded)}
}

// Get returns what is there, and looks first if nobody has since the last Forget.
// Callers at the same time share a look; none waits longer than its context lasts.
func (l *List[T]) Get(ctx context.Context) ([]T, error) {
	for {
		l.mu.Lock()
		known, since, items := l.known, l.invalidated, slices.Clone(l.items)
		l.mu.Unlock()
		if known {
			return items, nil
		}
		if _, err := l.looks.Do(ctx, strconv.Itoa(since), func(ctx context.Context) (none struct{}, err error) {
			return none, l.reload(ctx, since)
		}); err != nil {
			return nil, err
		}
	}
}

func (l *List[T]) reload(ctx context.Context, since int) error {
	l.mu.Lock()
	done := l.known || since != l.invalidated // by another look, a moment ago
	if !done {
		l.began, l.writes = l.clock.Now(), nil
	}
	l.mu.Unlock()
	if done {
		return nil
	}
	seen, err := l.look(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if since != l.invalidated {
		return nil
	}
	l.items, l.known, l.at = seen, true, l.clock.Now()
	for _, item := range seen {
		delete(l.made, l.id(item))
	}
	for id, m := range l.made {
		if l.at.Sub(m.at) > settling {
			delete(l.made, id)
			continue
		}
		l.items = append(l.items, m.item)
	}
	for _, write := range l.writes {
		write()
	}
	l.writes = nil
	return nil
}

// write applies a write to what was seen, and to what is being looked at now.
func (l *List[T]) write(apply func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	apply()
	if !l.known {
		l.writes = append(l.writes, apply)
	}
}

// Age is how long ago the last look was.
func (l *List[T]) Age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock.Since(l.at)
}

// Made adds what we have just made, or puts it in the place of what it was before.
func (l *List[T]) Made(item T) {
	id, now := l.id(item), l.clock.Now()
	l.write(func() {
		l.made[id] = made[T]{item: item, at: now}
		if i := l.index(id); i >= 0 {
			l.items[i] = item
			return
		}
		l.items = append(l.items, item)
	})
}

func (l *List[T]) index(id string) int {
	return slices.IndexFunc(l.items, func(item T) bool { return l.id(item) == id })
}

// Update puts an item in the place of what it was at the last look.
func (l *List[T]) Update(item T) {
	l.write(func() {
		if i := l.index(l.id(item)); i >= 0 {
			l.items[i] = item
		}
	})
}

// Ended says that we have deleted id, even if AWS lists it for a while.
func (l *List[T]) Ended(id string) {
	l.write(func() {
		delete(l.made, id)
		l.ended.Add(id, nil)
	})
}

// Missing says whether AWS does not list id although we have not seen its end.
func (l *List[T]) Missing(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ended := l.ended.Get(id)
	return id != "" && !ended && l.index(id) < 0
}

// Gone takes away what AWS says does not exist.
func (l *List[T]) Gone(id string) {
	l.write(func() {
		delete(l.made, id)
		l.ended.Add(id, nil)
		l.items = slices.DeleteFunc(l.items, func(item T) bool { return l.id(item) == id })
	})
}

// Forget makes the next Get look, unless the last look is younger than age:
// several who wait for the same thing share the look of the first.
func (l *List[T]) Forget(age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.at
	if !l.known {
		last = l.began // a look may be under way
	}
	if age == 0 || l.clock.Since(last) >= age {
		l.known = false
		l.invalidated++
	}
}

// Package owned remembers which AWS resources of one kind belong to one
// cluster. All services of the cluster share one look by owner tag, and nobody
// looks again until somebody has reason to: a write, a refusal, a wait, or the
// resync.
package owned

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// settling is how long a list of AWS may miss what has just been made. For so
// long what we made counts as there, or we would make it twice.
const settling = time.Minute

// A List is what was seen at the last look, and what we made since.
type List[T any] struct {
	clock clock.PassiveClock
	id    func(T) string
	look  func(context.Context) ([]T, error)

	mu    sync.Mutex // held while looking: who comes meanwhile shares the look
	known bool
	at    time.Time
	items []T
	made  map[string]made[T]
	ended map[string]bool
}

type made[T any] struct {
	item T
	at   time.Time
}

// New returns a List that nobody has looked at yet.
func New[T any](clk clock.PassiveClock, id func(T) string, look func(context.Context) ([]T, error)) *List[T] {
	return &List[T]{clock: clk, id: id, look: look, made: map[string]made[T]{}, ended: map[string]bool{}}
}

// Get returns what is there, and looks first if nobody has since the last Forget.
func (l *List[T]) Get(ctx context.Context) ([]T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known {
		if err := l.reload(ctx); err != nil {
			return nil, err
		}
	}
	return append([]T(nil), l.items...), nil
}

func (l *List[T]) reload(ctx context.Context) error {
	seen, err := l.look(ctx)
	if err != nil {
		return err
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
	return nil
}

// Age is how long ago the last look was.
func (l *List[T]) Age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock.Since(l.at)
}

// Made adds what we have just made, or puts it in the place of what it was before.
func (l *List[T]) Made(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.id(item)
	l.made[id] = made[T]{item: item, at: l.clock.Now()}
	for i := range l.items {
		if l.id(l.items[i]) == id {
			l.items[i] = item
			return
		}
	}
	l.items = append(l.items, item)
}

// Update puts an item in the place of what it was at the last look.
func (l *List[T]) Update(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.items {
		if l.id(l.items[i]) == l.id(item) {
			l.items[i] = item
		}
	}
}

// Ended says that we have deleted id, even if AWS lists it for a while.
func (l *List[T]) Ended(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.made, id)
	l.ended[id] = true
}

// Missing says whether AWS does not list id although we have not seen its end.
func (l *List[T]) Missing(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == "" || l.ended[id] {
		return false
	}
	for _, item := range l.items {
		if l.id(item) == id {
			return false
		}
	}
	return true
}

// Gone takes away what AWS says does not exist.
func (l *List[T]) Gone(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.made, id)
	l.ended[id] = true
	kept := l.items[:0]
	for _, item := range l.items {
		if l.id(item) != id {
			kept = append(kept, item)
		}
	}
	l.items = kept
}

// Forget makes the next Get look, unless the last look is younger than age:
// several who wait for the same thing share the look of the first.
func (l *List[T]) Forget(age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age == 0 || l.clock.Since(l.at) >= age {
		l.known = false
	}
}

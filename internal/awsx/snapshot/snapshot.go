// Package snapshot lets everyone who asks about one of many AWS resources
// share a single paged Describe. A thousand objects that look at their own
// resource twice an hour cost as many calls as one object does.
package snapshot

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// Settling is how long a list of AWS may lag behind a write: for that long what
// we made is there although a list lacks it, and what we saw go is gone. What a
// list does show, it shows as it is: others write too.
const Settling = 20 * time.Second

// A Snapshot is a copy of all resources of one kind, by key.
type Snapshot[T any] struct {
	clock  clock.PassiveClock
	maxAge time.Duration
	load   func(context.Context) (map[string]T, error)
	loads  sharedcall.Group[struct{}]

	mu    sync.Mutex
	valid bool
	taken time.Time
	items map[string]T
	notes map[string]note[T]
	// writes are those since the current load began, which may not show them.
	loading bool
	writes  []func()
}

// note is what we know of a resource because we wrote it ourselves.
type note[T any] struct {
	item T
	gone bool
	at   time.Time
}

// New returns a Snapshot that loads when it is asked and its copy is older
// than maxAge.
func New[T any](clk clock.PassiveClock, maxAge time.Duration, load func(context.Context) (map[string]T, error)) *Snapshot[T] {
	return &Snapshot[T]{clock: clk, maxAge: maxAge, load: load, notes: map[string]note[T]{}}
}

// Get returns the resource with that key. Callers at the same time share a load;
// none waits longer than its context lasts.
func (s *Snapshot[T]) Get(ctx context.Context, key string) (item T, found bool, err error) {
	if !s.fresh() {
		if _, err := s.loads.Do(ctx, "", s.reload); err != nil {
			return item, false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	item, found = s.items[key]
	return item, found, nil
}

func (s *Snapshot[T]) fresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.valid && s.clock.Since(s.taken) <= s.maxAge
}

func (s *Snapshot[T]) reload(ctx context.Context) (none struct{}, err error) {
	if s.fresh() { // another caller's load ended a moment ago
		return none, nil
	}
	s.mu.Lock()
	now := s.clock.Now()
	s.loading = true
	s.mu.Unlock()
	loaded, err := s.load(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	writes := s.writes
	s.loading, s.writes = false, nil
	if err != nil {
		return none, err
	}
	maps.DeleteFunc(s.notes, func(_ string, n note[T]) bool { return now.Sub(n.at) > Settling })
	s.items, s.taken, s.valid = loaded, now, true
	for key, n := range s.notes {
		if _, listed := loaded[key]; listed && !n.gone {
			continue
		}
		s.note(key, n)
	}
	for _, write := range writes {
		write()
	}
	return none, nil
}

// apply applies a write to the copy, and to the one that is being loaded.
func (s *Snapshot[T]) apply(write func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	write()
	if s.loading {
		s.writes = append(s.writes, write)
	}
}

// Put says what we have just written or read ourselves.
func (s *Snapshot[T]) Put(key string, item T) { s.write(key, note[T]{item: item}) }

// Drop says that we have seen the resource disappear.
func (s *Snapshot[T]) Drop(key string) { s.write(key, note[T]{gone: true}) }

func (s *Snapshot[T]) write(key string, n note[T]) {
	n.at = s.clock.Now()
	s.apply(func() {
		s.notes[key] = n
		s.note(key, n)
	})
}

func (s *Snapshot[T]) note(key string, n note[T]) {
	switch {
	case n.gone:
		delete(s.items, key)
	case s.items != nil:
		s.items[key] = n.item
	}
}

// Forget drops what is known of one resource: a call said that it is not as we
// believed. Until the next listing it is not found; who wants to know more
// before asks for it alone, so that the doubts about one cost the others nothing.
func (s *Snapshot[T]) Forget(key string) {
	s.apply(func() {
		delete(s.notes, key)
		delete(s.items, key)
	})
}

package awsgraph

import (
	"context"
	"sync"

	"github.com/hosted-control-planes/hypershift/internal/sharedcall"
)

// Listing is a list of AWS that several reads share.
type Listing[T any] struct {
	// Load reads all pages.
	Load func(context.Context) ([]T, error)

	flight sharedcall.Group[[]T]
	mu     sync.Mutex
	items  []T
	loaded bool
}

// Get returns the list. Without fresh, the list of an earlier call is good enough.
func (l *Listing[T]) Get(ctx context.Context, fresh bool) ([]T, error) {
	if !fresh {
		l.mu.Lock()
		items, loaded := l.items, l.loaded
		l.mu.Unlock()
		if loaded {
			return items, nil
		}
	}
	items, err := l.flight.Do(ctx, "", l.Load)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items, l.loaded = items, true
	return items, nil
}

// Prefetch reads the list.
func (l *Listing[T]) Prefetch(ctx context.Context) error {
	_, err := l.Get(ctx, false)
	return err
}

// Pick returns the item that matches: that with the recorded id, else the one with the smallest id, so that two runs without a
// record choose the same.
func Pick[T any](items []T, recorded string, id func(T) string, match func(T) bool) (T, bool) {
	var found T
	var ok bool
	for _, item := range items {
		if !match(item) {
			continue
		}
		if id(item) == recorded {
			return item, true
		}
		if !ok || id(item) < id(found) {
			found, ok = item, true
		}
	}
	return found, ok
}

package watch

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Broadcaster reports clusters that change to its subscribers. Its zero value is ready for use.
type Broadcaster struct {
	mu          sync.Mutex
	subscribers map[*Subscription]bool
}

// Subscription collects the clusters that change. A slow subscriber gets a cluster once, however often it has changed.
type Subscription struct {
	from    *Broadcaster
	changed map[types.NamespacedName]bool
	signal  chan struct{}
}

// Subscribe returns a Subscription. The caller ends it with Close.
func (b *Broadcaster) Subscribe() *Subscription {
	sub := &Subscription{from: b, changed: map[types.NamespacedName]bool{}, signal: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers == nil {
		b.subscribers = map[*Subscription]bool{}
	}
	b.subscribers[sub] = true
	return sub
}

// Notify reports that clusters have changed. It never waits for a subscriber.
func (b *Broadcaster) Notify(keys ...types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for sub := range b.subscribers {
		for _, key := range keys {
			sub.changed[key] = true
		}
		select {
		case sub.signal <- struct{}{}:
		default:
		}
	}
}

// Changed receives a value after clusters have changed.
func (sub *Subscription) Changed() <-chan struct{} { return sub.signal }

// Take returns the clusters that have changed since the last call. A cluster that was deleted is one of them.
func (sub *Subscription) Take() map[types.NamespacedName]bool {
	sub.from.mu.Lock()
	defer sub.from.mu.Unlock()
	changed := sub.changed
	sub.changed = map[types.NamespacedName]bool{}
	return changed
}

// Close ends the subscription.
func (sub *Subscription) Close() {
	sub.from.mu.Lock()
	defer sub.from.mu.Unlock()
	delete(sub.from.subscribers, sub)
}

package reconcile

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// objectLocks let the writers of one object write one after the other. The
// controllers of one process start at once with the same copy, and all but the
// first of them would get a conflict.
type objectLocks struct {
	mu   sync.Mutex
	held map[types.UID]chan struct{} // closed when the lock is released
}

// writers are those of this process.
var writers = &objectLocks{held: map[types.UID]chan struct{}{}}

// lock waits until the object is free.
func (l *objectLocks) lock(ctx context.Context, uid types.UID) (unlock func(), err error) {
	for {
		holder := l.try(uid)
		if holder == nil {
			return func() { l.release(uid) }, nil
		}
		select {
		case <-holder:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try takes the lock, or returns the channel of its holder.
func (l *objectLocks) try(uid types.UID) (holder chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder, locked := l.held[uid]; locked {
		return holder
	}
	l.held[uid] = make(chan struct{})
	return nil
}

func (l *objectLocks) release(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[uid])
	delete(l.held, uid)
}

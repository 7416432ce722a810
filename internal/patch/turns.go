package patch

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// turns let the writers of one object go one after the other. Those of one process
// start at once, and but one of them would be right about the version.
type turns struct {
	mu    sync.Mutex
	taken map[types.UID]chan struct{} // closed when the turn ends
}

// inTurn are those of this process.
var inTurn = &turns{taken: map[types.UID]chan struct{}{}}

// take waits for a turn, which done ends.
func (t *turns) take(ctx context.Context, uid types.UID) (done func(), err error) {
	for {
		before := t.try(uid)
		if before == nil {
			return func() { t.end(uid) }, nil
		}
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try takes the turn, or says whose end to wait for.
func (t *turns) try(uid types.UID) (before chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, busy := t.taken[uid]; busy {
		return before
	}
	t.taken[uid] = make(chan struct{})
	return nil
}

func (t *turns) end(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.taken[uid])
	delete(t.taken, uid)
}

package awsprivatelink

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// steps are the delays of a backoff: first, for what takes a moment, then twice
// as long each time up to a limit, so that what takes minutes costs few calls.
type steps struct{ first, limit time.Duration }

var (
	coming = steps{time.Second, 30 * time.Second}
	// leaving lists sixteen times in the minute that AWS usually takes to delete
	// an endpoint, the last time just after it.
	leaving = steps{300 * time.Millisecond, 4700 * time.Millisecond}
	// inUse is for a security group that is still attached.
	inUse = steps{300 * time.Millisecond, 30 * time.Second}
)

// backoff has the delay of each object that waits for AWS.
type backoff struct {
	mu     sync.Mutex
	delays map[types.UID]delay
}

type delay struct {
	steps steps
	last  time.Duration
}

func newBackoff() *backoff { return &backoff{delays: map[types.UID]delay{}} }

// next returns the next delay. Other steps start at their first.
func (b *backoff) next(uid types.UID, s steps) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.delays[uid]
	if d.steps != s {
		d = delay{steps: s}
	}
	d.last = min(max(s.first, 2*d.last), s.limit)
	b.delays[uid] = d
	return d.last
}

// age is how old a list may be and still serve: half of the last delay.
func (b *backoff) age(uid types.UID) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delays[uid].last / 2
}

// reset ends the wait.
func (b *backoff) reset(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.delays, uid)
}

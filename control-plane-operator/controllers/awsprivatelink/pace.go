package awsprivatelink

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pace is how soon to look again at something that AWS is busy with: soon at
// first, for what takes a moment, then twice as long each time up to a cap, so
// that what takes minutes costs few calls.
type pace struct {
	mu   sync.Mutex
	last map[types.UID]time.Duration
}

func newPace() *pace { return &pace{last: map[types.UID]time.Duration{}} }

// next returns how long to wait this time.
func (p *pace) next(uid types.UID, first, limit time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[uid] = min(max(first, 2*p.last[uid]), limit)
	return p.last[uid]
}

// age is how old a look may be and still serve: half of what was waited for.
func (p *pace) age(uid types.UID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[uid] / 2
}

// rest ends the waiting.
func (p *pace) rest(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, uid)
}

// jitter spreads d, so that what was started together does not stay together.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*0.2*float64(d)) //nolint:gosec // no secret depends on it
}

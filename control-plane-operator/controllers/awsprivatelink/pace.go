package awsprivatelink

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pace is how soon to look again at something that AWS is busy with: soon at
// first, for what takes a moment, then twice as long each time up to a cap, so
// that what takes minutes costs few calls.
type pace struct {
	mu    sync.Mutex
	last  map[types.UID]time.Duration
	began map[types.UID]time.Time
}

func newPace() *pace {
	return &pace{last: map[types.UID]time.Duration{}, began: map[types.UID]time.Time{}}
}

// since returns when this was first asked about uid.
func (p *pace) since(uid types.UID, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.began[uid]; !known {
		p.began[uid] = now
	}
	return p.began[uid]
}

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
	delete(p.began, uid)
}

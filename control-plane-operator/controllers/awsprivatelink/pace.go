package awsprivatelink

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A rhythm is how soon to look again at something that AWS is busy with: soon
// at first, for what takes a moment, then twice as long each time up to a
// limit, so that what takes minutes costs few calls.
type rhythm struct{ first, limit time.Duration }

var (
	coming = rhythm{time.Second, 30 * time.Second}
	// leaving makes sixteen looks in the minute that AWS usually takes to delete
	// an endpoint, the last of them just after it.
	leaving = rhythm{300 * time.Millisecond, 4700 * time.Millisecond}
	// inUse is the rhythm of a security group that others hold.
	inUse = rhythm{300 * time.Millisecond, 30 * time.Second}
)

// pace remembers how long each object has waited in its rhythm.
type pace struct {
	mu    sync.Mutex
	beats map[types.UID]beat
	began map[types.UID]time.Time
}

type beat struct {
	rhythm rhythm
	last   time.Duration
}

func newPace() *pace {
	return &pace{beats: map[types.UID]beat{}, began: map[types.UID]time.Time{}}
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

// next returns how long to wait this time. Another rhythm begins anew.
func (p *pace) next(uid types.UID, r rhythm) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.beats[uid]
	if b.rhythm != r {
		b = beat{rhythm: r}
	}
	b.last = min(max(r.first, 2*b.last), r.limit)
	p.beats[uid] = b
	return b.last
}

// age is how old a look may be and still serve: half of what was waited for.
func (p *pace) age(uid types.UID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.beats[uid].last / 2
}

// rest ends the waiting.
func (p *pace) rest(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.beats, uid)
	delete(p.began, uid)
}

package ledger

import (
	"time"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// maxObjects bounds the objects that wait at the same time. An object that is dropped starts
// its window and its delays again.
const maxObjects = 10000

// progress is the state in memory of an object that waits for AWS.
type progress struct {
	// window is the begin of the window of eventual consistency.
	window time.Time
	// found contains the names of the resources that the deletion has found.
	found map[string]bool

	backoff Backoff
	since   time.Time // when the object began to wait with this backoff
	delay   time.Duration
}

// A Backoff is how long an object waits for AWS: shortly at first, for changes that take a
// moment, and longer and longer, so that changes that take minutes cost few calls.
type Backoff struct {
	First, Limit time.Duration
	// Share is the part of the time waited so far that the next delay has. Without
	// one each delay is twice the last.
	Share float64
}

// known returns the progress of an object, or nil.
func (l *Ledger[S]) known(s S) *progress {
	p, cached := l.objects.Get(l.opts.Object(s).GetUID())
	if !cached {
		return nil
	}
	return p.(*progress) //nolint:forcetypeassert // the cache holds nothing else
}

func (l *Ledger[S]) progress(s S) *progress {
	p := l.known(s)
	if p == nil {
		p = &progress{found: map[string]bool{}}
		l.objects.Add(l.opts.Object(s).GetUID(), p)
	}
	return p
}

// Len is the number of objects that wait or are being deleted.
func (l *Ledger[S]) Len() int { return l.objects.Len() }

// Delay returns how long the object waits this time. Another backoff starts at its first delay.
func (l *Ledger[S]) Delay(s S, b Backoff) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, now := l.progress(s), l.opts.Clock.Now()
	if p.backoff != b {
		p.backoff, p.since, p.delay = b, now, 0
	}
	next := 2 * p.delay
	if b.Share > 0 {
		next = time.Duration(float64(now.Sub(p.since)) * b.Share)
	}
	p.delay = min(max(next, b.First), b.Limit)
	return p.delay
}

// ListAge is how old a list may be and still serve an object that waits: half of its
// last delay. It is 0 for an object that does not wait.
func (l *Ledger[S]) ListAge(s S) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.known(s); p != nil {
		return p.delay / 2
	}
	return 0
}

// StopWaiting makes the next wait of the object start at the first delay.
func (l *Ledger[S]) StopWaiting(s S) { l.forget(s) }

// remaining returns how long the lists of AWS cannot be trusted yet. The first call for an
// object starts its window.
func (l *Ledger[S]) remaining(s S) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, now := l.progress(s), l.opts.Clock.Now()
	if p.window.IsZero() {
		p.window = now
	}
	return max(awsx.ConsistencyWindow-now.Sub(p.window), 0)
}

// isOpen is true if the outcome of a creation of the resource is not known.
func (l *Ledger[S]) isOpen(s S, r Resource[S]) bool {
	if r.Entry == nil || !r.Entry(s).Creating() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.known(s)
	return p == nil || !p.found[r.Name]
}

// closeIntent closes the intent in memory, too: the write of the status may fail, and the
// next reconcile finds no resource.
func (l *Ledger[S]) closeIntent(s S, r Resource[S]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress(s).found[r.Name] = true
}

func (l *Ledger[S]) forget(s S) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.objects.Remove(l.opts.Object(s).GetUID())
}

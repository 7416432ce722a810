// Package follow lets what runs in a lab keep up with what its AWS account says.
package follow

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options say how something is followed.
type Options struct {
	// Changed says whether anything may have changed since it was asked last; nil reads each time.
	Changed func(context.Context) (bool, error)
	// Interval is how often it is asked. Default: a second.
	Interval time.Duration
	Clock    clock.WithTicker
	// Progress gets a line per new trouble.
	Progress io.Writer
}

// Loop reads something over and over.
type Loop struct {
	o    Options
	what string
	read func(context.Context) (settled bool, err error)

	settled bool

	mu      sync.Mutex
	trouble string
}

// New makes a Loop. read says whether what it has read stays so while nobody changes it; if not, it is called again.
func New(what string, o Options, read func(context.Context) (settled bool, err error)) *Loop {
	o.Interval = cmp.Or(o.Interval, time.Second)
	return &Loop{o: o, what: what, read: read}
}

// Run reads until ctx ends: the first time, when something has changed, and after a failure.
func (l *Loop) Run(ctx context.Context) {
	ticks := l.o.Clock.NewTicker(l.o.Interval)
	defer ticks.Stop()
	for {
		l.pass(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C():
		}
	}
}

func (l *Loop) pass(ctx context.Context) {
	changed, err := true, error(nil)
	if l.o.Changed != nil {
		changed, err = l.o.Changed(ctx)
	}
	if err == nil && l.settled && !changed {
		return
	}
	l.settled = false
	if err == nil {
		l.settled, err = l.read(ctx)
	}
	if ctx.Err() == nil {
		l.say(err)
	}
}

// say reports trouble once.
func (l *Loop) say(err error) {
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if trouble != "" && trouble != l.trouble {
		fmt.Fprintf(l.o.Progress, "%s: %s\n", l.what, trouble)
	}
	l.trouble = trouble
}

// Trouble says what went wrong the last time; empty if nothing did.
func (l *Loop) Trouble() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

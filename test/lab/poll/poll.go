// Package poll polls the AWS account of a lab, so that the components of the lab follow its changes.
package poll

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options configure a Loop.
type Options struct {
	// Changed reports whether anything may have changed since the last call; nil means always.
	Changed func(context.Context) (bool, error)
	// Interval is the polling interval. Default: a second.
	Interval time.Duration
	Clock    clock.WithTicker
	// Progress receives a line for each new error.
	Progress io.Writer
}

// Loop calls a function whenever the account has changed.
type Loop struct {
	o    Options
	what string
	read func(context.Context) (settled bool, err error)

	settled bool

	mu      sync.Mutex
	trouble string
}

// New returns a Loop. read returns settled = false if resources are in transition; then it is called again.
func New(what string, o Options, read func(context.Context) (settled bool, err error)) *Loop {
	o.Interval = cmp.Or(o.Interval, time.Second)
	return &Loop{o: o, what: what, read: read}
}

// Run calls read until ctx ends: first immediately, then after changes and after errors.
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
		l.report(err)
	}
}

// report prints an error once.
func (l *Loop) report(err error) {
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

// Trouble is the error of the last pass; empty after success.
func (l *Loop) Trouble() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

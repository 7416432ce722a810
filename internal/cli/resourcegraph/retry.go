package resourcegraph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"
)

// Class is the meaning of an error for the next attempt.
type Class int

// The classes of errors.
const (
	// Fatal: another attempt would fail, too. The call had no effect.
	Fatal Class = iota
	// Throttled: the call had no effect; try again later.
	Throttled
	// Unknown: there was no answer. The call may have been carried out.
	Unknown
	// Inconsistent: a resource of the call is not in the state that the call needs, maybe because it was just changed.
	Inconsistent
	// NotFound: a resource of the call does not exist, or was just created and is not found yet. A deletion is complete.
	NotFound
	// Exists: the resource exists already, maybe from an attempt that had no answer.
	Exists
	// InUse: another resource still uses the resource to delete.
	InUse
)

// GivenUpError is returned after the time for attempts of one call is over. It wraps the last error.
type GivenUpError struct {
	Attempts int
	After    time.Duration
	Err      error
}

func (e *GivenUpError) Error() string {
	return fmt.Sprintf("%v (given up after %d attempts in %s)", e.Err, e.Attempts, e.After.Round(time.Second))
}

// Unwrap returns the last error.
func (e *GivenUpError) Unwrap() error { return e.Err }

// Options configure an engine. Classify and ConsistencyWindow are required.
type Options struct {
	// Classify returns the class of an error.
	Classify func(error) Class
	// Limit is how many functions of nodes run at once. Default: no limit. Functions that share one call count each, so that a
	// limit of the calls themselves belongs into the client.
	Limit int
	// ConsistencyWindow is how long a created resource may not be found: awsx.ConsistencyWindow for AWS.
	ConsistencyWindow time.Duration
	// Timeout is for one node: all attempts at throttled and unanswered calls, or the wait for a state. Default: 20 minutes.
	Timeout time.Duration
	// FirstDelay and MaxDelay are the limits of the back-off. Default: 250 ms and 10 seconds.
	FirstDelay, MaxDelay time.Duration
	// Events is called for each event, by several goroutines.
	Events func(Event)
	Clock  clock.Clock
}

// Engine brings a graph to its desired state.
type Engine struct {
	Options
	graph *Graph
	state *State
	slots chan struct{}
}

// NewEngine returns an engine for a graph and its recorded state.
func NewEngine(graph *Graph, state *State, o Options) *Engine {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.Timeout, 20*time.Minute)
	set(&o.FirstDelay, 250*time.Millisecond)
	set(&o.MaxDelay, 10*time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	e := &Engine{Options: o, graph: graph, state: state}
	if o.Limit > 0 {
		e.slots = make(chan struct{}, o.Limit)
	}
	return e
}

func (e *Engine) emit(n *Node, ev Event) {
	if e.Events == nil {
		return
	}
	ev.Node, ev.Time = n, e.Clock.Now()
	e.Events(ev)
}

// do makes one call when a slot is free.
func (e *Engine) do(ctx context.Context, call func(context.Context) error) error {
	if e.slots != nil {
		select {
		case e.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-e.slots }()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return call(ctx)
}

// backoff doubles from FirstDelay to MaxDelay, with full jitter above a half: parallel calls that are throttled together must
// not come back together.
type backoff struct {
	e        *Engine
	attempts int
	began    time.Time
}

func (e *Engine) backoff() *backoff { return &backoff{e: e, began: e.Clock.Now()} }

func (b *backoff) delay() time.Duration {
	d := b.e.MaxDelay
	if b.attempts < 16 {
		d = min(d, b.e.FirstDelay<<b.attempts)
	}
	b.attempts++
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter, which is not secret
}

func (b *backoff) elapsed() time.Duration { return b.e.Clock.Since(b.began) }

// giveUp returns an error if the time for attempts is over.
func (b *backoff) giveUp(limit time.Duration, err error) error {
	if b.elapsed() <= limit {
		return nil
	}
	return &GivenUpError{Attempts: b.attempts + 1, After: b.elapsed(), Err: err}
}

// sleep waits for the next attempt, and reports why.
func (b *backoff) sleep(ctx context.Context, n *Node, ev Event) error {
	ev.Delay = b.delay()
	b.e.emit(n, ev)
	select {
	case <-b.e.Clock.After(ev.Delay):
		return nil
	case <-ctx.Done():
		if ev.Err != nil {
			return fmt.Errorf("%w (the last attempt failed: %w)", ctx.Err(), ev.Err)
		}
		return ctx.Err()
	}
}

// retry makes a call that may be repeated, until it succeeds or its error is final.
func (e *Engine) retry(ctx context.Context, n *Node, call func(context.Context) error) error {
	b := e.backoff()
	for {
		err := e.do(ctx, call)
		if err == nil || ctx.Err() != nil {
			return err
		}
		limit := e.Timeout
		switch e.classify(n, err) {
		case Throttled, Unknown:
		case Inconsistent, NotFound:
			limit = e.ConsistencyWindow
		default:
			return err
		}
		if err := b.giveUp(limit, err); err != nil {
			return err
		}
		if err := b.sleep(ctx, n, Event{Phase: Retrying, Err: err}); err != nil {
			return err
		}
	}
}

func (e *Engine) classify(n *Node, err error) Class {
	var foreign *NotOwnedError
	if errors.As(err, &foreign) || errors.Is(err, context.Canceled) {
		return Fatal
	}
	if n.Classify != nil {
		return n.Classify(err)
	}
	return e.Classify(err)
}

func (e *Engine) stateOf(n *Node) *State {
	if n.State != nil {
		return n.State
	}
	return e.state
}

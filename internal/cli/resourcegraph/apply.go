package resourcegraph

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Apply carries out a plan of Plan. It returns when all resources exist, have the desired attributes, and are ready. The
// failure of one resource stops only those that depend on it.
func (e *Engine) Apply(ctx context.Context, p *Plan) error {
	// Others may go on with a resource that is not ready yet.
	var ready sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	err := e.walk(ctx, e.graph.nodes, func(n *Node) []string { return n.DependsOn }, func(ctx context.Context, n *Node) error {
		observed, err := e.ensure(ctx, n, p)
		if err != nil {
			return err
		}
		p.setID(n.ID, observed.ID)
		if observed.Pending != "" {
			ready.Go(func() {
				if err := e.awaitReady(ctx, n, p.ID, observed); err != nil {
					e.emit(n, Event{Phase: Failed, Err: err})
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}
			})
		}
		return nil
	})
	ready.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(append(errs, err)...)
}

func (e *Engine) ensure(ctx context.Context, n *Node, p *Plan) (Observed, error) {
	observed := p.steps[n.ID].Observed
	record, recorded := e.stateOf(n).get(n.ID)
	desired := n.desired(p.ID)
	if !observed.Exists() && recorded && (!n.Repeatable || record.ID != "") {
		// An interrupted run may have created it a moment ago. A recorded id ends the use of its token: a resource that was
		// deleted since would be returned for it.
		var err error
		if observed, err = e.awaitVisible(ctx, n, p.ID, record); err != nil {
			return Observed{}, err
		}
	}
	if !observed.Exists() {
		if n.Create == nil {
			return Observed{}, n.missing()
		}
		var err error
		var created bool
		if observed, created, err = e.create(ctx, n, p.ID, desired, record); err != nil {
			return Observed{}, fmt.Errorf("creating %s: %w", n.label(), err)
		}
		if created {
			return observed, nil
		}
	} else if record.ID != observed.ID && n.Create != nil {
		if err := e.stateOf(n).put(n.ID, Record{ID: observed.ID, Token: record.Token, Time: record.Time}); err != nil {
			return Observed{}, err
		}
	}
	changes := diff(desired, observed.Attributes)
	if len(changes) == 0 {
		return observed, nil
	}
	if err := immutable(n, observed, changes); err != nil {
		return Observed{}, err
	}
	e.emit(n, Event{Phase: Updating, ID: observed.ID})
	err := e.retry(ctx, n, func(ctx context.Context) error {
		return n.Update(ctx, Update{IDs: p.ID, Desired: desired, Observed: observed, Changes: changes})
	})
	if err != nil {
		return Observed{}, fmt.Errorf("updating %s: %w", n.label(), err)
	}
	e.emit(n, Event{Phase: Updated, ID: observed.ID})
	return observed, nil
}

// create creates the resource. It returns false if it finds a resource of an earlier attempt. The caller then compares the
// attributes.
func (e *Engine) create(ctx context.Context, n *Node, ids IDs, desired Attributes, record Record) (Observed, bool, error) {
	// The intent of an interrupted run keeps its token, so that the API recognizes the repetition.
	intent := Record{Token: record.Token, Time: e.Clock.Now()}
	if record.ID != "" || intent.Token == "" {
		intent.Token = newToken()
	}
	if err := e.stateOf(n).put(n.ID, intent); err != nil {
		return Observed{}, false, err
	}
	e.emit(n, Event{Phase: Creating})
	b := e.backoff()
	for {
		var observed Observed
		err := e.do(ctx, func(ctx context.Context) (err error) {
			observed, err = n.Create(ctx, Creation{IDs: ids, Desired: desired, Token: intent.Token})
			return err
		})
		if err == nil {
			intent.ID = observed.ID
			if err := e.stateOf(n).put(n.ID, intent); err != nil {
				return Observed{}, false, err
			}
			e.emit(n, Event{Phase: Created, ID: observed.ID})
			return observed, true, nil
		}
		if ctx.Err() != nil {
			return Observed{}, false, err // the intent stays: the call may have been carried out
		}
		limit := e.Timeout
		switch e.classify(n, err) {
		case Throttled:
		case Inconsistent, NotFound:
			limit = e.ConsistencyWindow
		case Exists:
			limit = e.ConsistencyWindow
			if found, readErr := e.read(ctx, n, ids, true); readErr != nil || found.Exists() {
				return e.found(n, found, intent, readErr)
			}
		case Unknown:
			if n.Repeatable {
				break
			}
			if found, readErr := e.awaitVisible(ctx, n, ids, Record{Time: e.Clock.Now()}); readErr != nil || found.Exists() {
				return e.found(n, found, intent, readErr)
			}
		default:
			return Observed{}, false, errors.Join(err, e.stateOf(n).remove(n.ID))
		}
		if err := b.giveUp(limit, err); err != nil {
			return Observed{}, false, err
		}
		if err := b.sleep(ctx, n, Event{Phase: Retrying, Err: err}); err != nil {
			return Observed{}, false, err
		}
	}
}

func (e *Engine) found(n *Node, found Observed, intent Record, err error) (Observed, bool, error) {
	if err != nil {
		return Observed{}, false, err
	}
	intent.ID = found.ID
	if err := e.stateOf(n).put(n.ID, intent); err != nil {
		return Observed{}, false, err
	}
	e.emit(n, Event{Phase: Adopted, ID: found.ID})
	return found, false, nil
}

// awaitVisible looks a resource up until it is found, or until a resource that was created at the time of the record would be found.
func (e *Engine) awaitVisible(ctx context.Context, n *Node, ids IDs, record Record) (Observed, error) {
	b := e.backoff()
	for {
		over := e.Clock.Since(record.Time) > e.ConsistencyWindow
		observed, err := e.read(ctx, n, ids, true)
		if err != nil || observed.Exists() || over {
			return observed, err
		}
		if err := b.sleep(ctx, n, Event{Phase: Waiting, Detail: "the outcome of the last creation is not known, and AWS may not list it yet"}); err != nil {
			return Observed{}, err
		}
	}
}

func (e *Engine) awaitReady(ctx context.Context, n *Node, ids IDs, observed Observed) error {
	b := e.backoff()
	for observed.Pending != "" {
		if b.elapsed() > e.Timeout {
			return fmt.Errorf("%s (%s) is not ready after %s: %s", n.label(), observed.ID, e.Timeout, observed.Pending)
		}
		if err := b.sleep(ctx, n, Event{Phase: Waiting, ID: observed.ID, Detail: observed.Pending}); err != nil {
			return err
		}
		next, err := e.read(ctx, n, ids, true)
		if err != nil {
			return err
		}
		if next.Exists() {
			observed = next
		} else if b.elapsed() > e.ConsistencyWindow {
			return fmt.Errorf("%s (%s) has disappeared before it was ready", n.label(), observed.ID)
		}
	}
	e.emit(n, Event{Phase: Ready, ID: observed.ID})
	return nil
}

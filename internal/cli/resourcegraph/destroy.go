package resourcegraph

import (
	"context"
	"errors"
	"fmt"
)

// Destroy carries out a plan of PlanDestroy: a resource is deleted after all that depend on it.
func (e *Engine) Destroy(ctx context.Context, p *Plan) error {
	dependents := map[string][]string{}
	for _, n := range e.graph.nodes {
		for _, d := range n.DependsOn {
			dependents[d] = append(dependents[d], n.ID)
		}
	}
	return e.walk(ctx, e.graph.nodes, func(n *Node) []string { return dependents[n.ID] }, func(ctx context.Context, n *Node) error {
		step := p.steps[n.ID]
		if step.Action == Delete {
			if err := e.delete(ctx, n, p.ID, step.Observed); err != nil {
				return fmt.Errorf("deleting %s (%s): %w", n.label(), step.Observed.ID, err)
			}
		}
		if step.Action == Keep {
			return nil
		}
		return e.stateOf(n).remove(n.ID)
	})
}

func (e *Engine) delete(ctx context.Context, n *Node, ids IDs, observed Observed) error {
	e.emit(n, Event{Phase: Deleting, ID: observed.ID})
	b := e.backoff()
	if err := e.requestDeletion(ctx, n, observed, b); err != nil {
		// Another deletion may have completed meanwhile, such as the deletion by a process that was killed. IAM refuses this
		// deletion then: its condition is a tag that a deleted resource does not carry.
		if found, readErr := e.read(ctx, n, ids, true); readErr != nil || found.Exists() {
			return err
		}
	}
	for n.SlowDeletion {
		next, err := e.read(ctx, n, ids, true)
		if err != nil {
			return err
		}
		if !next.Exists() {
			break
		}
		if err := b.giveUp(e.Timeout, errNotGone); err != nil {
			return err
		}
		if err := b.sleep(ctx, n, Event{Phase: Waiting, ID: observed.ID, Detail: "until it is gone"}); err != nil {
			return err
		}
	}
	e.emit(n, Event{Phase: Deleted, ID: observed.ID})
	return nil
}

var errNotGone = errors.New("the deletion was accepted, and the resource still exists")

// requestDeletion repeats the call until it is accepted, or the resource does not exist.
func (e *Engine) requestDeletion(ctx context.Context, n *Node, observed Observed, b *backoff) error {
	for {
		err := e.do(ctx, func(ctx context.Context) error { return n.Delete(ctx, observed) })
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		event := Event{Phase: Retrying, ID: observed.ID, Err: err}
		switch e.classify(n, err) {
		case NotFound:
			return nil
		case Throttled, Unknown, Inconsistent:
		case InUse:
			event = Event{Phase: Waiting, ID: observed.ID, Detail: "it is in use", Err: err}
		default:
			return err
		}
		if err := b.giveUp(e.Timeout, err); err != nil {
			return err
		}
		if err := b.sleep(ctx, n, event); err != nil {
			return err
		}
	}
}

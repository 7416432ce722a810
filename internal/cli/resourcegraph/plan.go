package resourcegraph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Action is a plan's action on a node.
type Action string

// The actions.
const (
	None   Action = "none"
	Create Action = "create"
	Modify Action = "update"
	Delete Action = "delete"
	// Keep: a resource that is not ours stays.
	Keep Action = "keep"
)

// Step is one action of a plan.
type Step struct {
	Node     *Node
	Action   Action
	Observed Observed
	Changes  []Change
	// Reason of a resource that is kept.
	Reason string
}

// Plan is the difference between the observed and the desired state.
type Plan struct {
	graph *Graph
	steps map[string]*Step
	mu    sync.Mutex
	ids   map[string]string
}

func newPlan(g *Graph) *Plan {
	return &Plan{graph: g, steps: map[string]*Step{}, ids: map[string]string{}}
}

// ID returns the id of the resource of a node, or "".
func (p *Plan) ID(node string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[node]
}

func (p *Plan) setID(node, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[node] = id
}

// Steps returns the steps of the plan, dependencies first.
func (p *Plan) Steps() []*Step {
	var steps []*Step
	for _, n := range p.graph.nodes {
		steps = append(steps, p.steps[n.ID])
	}
	return steps
}

// Count returns how many steps have that action.
func (p *Plan) Count(a Action) int {
	count := 0
	for _, s := range p.steps {
		if s.Action == a {
			count++
		}
	}
	return count
}

// Empty is true if the plan contains no action.
func (p *Plan) Empty() bool { return p.Count(Create)+p.Count(Modify)+p.Count(Delete) == 0 }

// Plan reads all resources and compares them with the desired state. It makes no writing call.
func (e *Engine) Plan(ctx context.Context) (*Plan, error) {
	p, err := e.refresh(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, n := range e.graph.nodes {
		step := p.steps[n.ID]
		desired := n.desired(p.ID)
		switch {
		case step.Observed.Exists():
			step.Action, step.Changes = None, diff(desired, step.Observed.Attributes)
			if len(step.Changes) > 0 {
				step.Action = Modify
				errs = append(errs, immutable(n, step.Observed, step.Changes))
			}
		case n.Create == nil:
			errs = append(errs, n.missing())
		default:
			step.Action, step.Changes = Create, diff(desired, nil)
		}
	}
	return p, errors.Join(errs...)
}

func (n *Node) missing() error {
	if n.Missing != nil {
		return n.Missing
	}
	return fmt.Errorf("%s does not exist", n.label())
}

func immutable(n *Node, o Observed, changes []Change) error {
	var errs []error
	for _, c := range changes {
		if n.Update == nil || slices.Contains(n.Immutable, c.Attribute) {
			desired := fmt.Sprintf("%q", c.New)
			if c.New == "" {
				desired = "that of a resource that does not exist yet"
			}
			errs = append(errs, fmt.Errorf("%s (%s) has %s %q instead of %s, which cannot be changed", n.label(), o.ID, c.Attribute, c.Old, desired))
		}
	}
	return errors.Join(errs...)
}

// PlanDestroy reads all resources. Everything that exists and is ours will be deleted.
func (e *Engine) PlanDestroy(ctx context.Context) (*Plan, error) {
	p, err := e.refresh(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range e.graph.nodes {
		if step := p.steps[n.ID]; step.Observed.Exists() && n.Delete != nil {
			step.Action = Delete
		}
	}
	return p, nil
}

// refresh reads all resources, dependencies first.
func (e *Engine) refresh(ctx context.Context) (*Plan, error) {
	var prefetched sync.WaitGroup
	for _, call := range e.graph.prefetch {
		prefetched.Go(func() { _ = e.do(ctx, call) })
	}
	defer prefetched.Wait()
	p := newPlan(e.graph)
	for _, n := range e.graph.nodes {
		p.steps[n.ID] = &Step{Node: n, Action: None}
	}
	after := func(n *Node) []string {
		if n.ReadsAlone {
			return nil
		}
		return n.DependsOn
	}
	err := e.walk(ctx, e.graph.nodes, after, func(ctx context.Context, n *Node) error {
		step := p.steps[n.ID]
		observed, err := e.read(ctx, n, p.ID, false)
		if err != nil {
			return fmt.Errorf("reading %s: %w", n.label(), err)
		}
		step.Observed = observed
		p.setID(n.ID, observed.ID)
		return nil
	})
	return p, err
}

func (e *Engine) read(ctx context.Context, n *Node, ids IDs, fresh bool) (Observed, error) {
	var observed Observed
	record, recorded := e.stateOf(n).get(n.ID)
	err := e.retry(ctx, n, func(ctx context.Context) (err error) {
		observed, err = n.Read(ctx, Lookup{ID: record.ID, Recorded: recorded, IDs: ids, Fresh: fresh})
		return err
	})
	return observed, err
}

// walk visits each node after the nodes that after returns for it, in parallel. Nodes after a failed node are skipped. All
// errors are returned.
func (e *Engine) walk(ctx context.Context, nodes []*Node, after func(*Node) []string, visit func(context.Context, *Node) error) error {
	type result struct {
		done   chan struct{}
		failed bool
	}
	results := map[string]*result{}
	for _, n := range nodes {
		results[n.ID] = &result{done: make(chan struct{})}
	}
	var mu sync.Mutex
	var errs []error
	var running sync.WaitGroup
	for _, n := range nodes {
		running.Go(func() {
			r := results[n.ID]
			defer close(r.done)
			for _, id := range after(n) {
				if other, ok := results[id]; ok {
					<-other.done
					r.failed = r.failed || other.failed
				}
			}
			if r.failed {
				e.emit(n, Event{Phase: Skipped})
				return
			}
			if err := visit(ctx, n); err != nil {
				r.failed = true
				e.emit(n, Event{Phase: Failed, Err: err})
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

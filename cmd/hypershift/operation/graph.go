package operation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/listprices"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Part is the part of a graph that one command can create alone: its nodes, and the file that records them.
type Part struct {
	// State is the name of the state file, without a suffix. Without a name, creations are recorded until the command ends.
	State string
	// Scope identifies the subject of the state, such as the account.
	Scope map[string]string
	Nodes []*rg.Node
	// Prefetch fills the lists that reads use. It may be empty.
	Prefetch []func(context.Context) error
}

// Search is the part of a deletion that one command can delete alone.
type Search struct {
	State string
	Scope map[string]string
	// Discover finds the resources. recorded is true for nodes whose creation the state file records, with an outcome that may be unknown.
	Discover func(ctx context.Context, recorded func(node string) bool) (Finding, error)
}

// Finding is the result of a search.
type Finding struct {
	Graph *rg.Graph
	// Remaining are resources that are not deleted, each with the reason.
	Remaining []string
}

// Apply brings the graph of all parts to its desired state, and returns the ids. Nodes may depend on nodes of other parts. It returns ErrChanges
// for --plan, if there are changes.
func (o *Options) Apply(ctx context.Context, env Environment, parts ...Part) (_ *rg.Plan, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var nodes []*rg.Node
	var paths []string
	for _, p := range parts {
		if p.State != "" {
			state, openErr := o.open(env, p.State, p.Scope)
			if openErr != nil {
				return nil, openErr
			}
			defer func() { err = errors.Join(err, state.Close()) }()
			for _, n := range p.Nodes {
				n.State = state.State
			}
			paths = append(paths, state.Path())
		}
		nodes = append(nodes, p.Nodes...)
	}
	graph, err := rg.New(nodes...)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		graph.Prefetch(p.Prefetch...)
	}
	view := newProgress(env)
	engine := rg.NewEngine(graph, rg.NewMemory(), env.engine(view))
	plan, err := engine.Plan(ctx)
	if plan != nil && o.Plan {
		if printErr := o.print(env, plan); printErr != nil {
			return nil, printErr
		}
	}
	if err != nil {
		return nil, err
	}
	if o.Plan {
		if plan.Empty() {
			return plan, nil
		}
		return nil, ErrChanges
	}
	fmt.Fprintf(env.Err, "%d to create, %d to update, %d as desired", plan.Count(rg.Create), plan.Count(rg.Modify), plan.Count(rg.None))
	if len(paths) > 0 {
		fmt.Fprintf(env.Err, "; state in %s", strings.Join(paths, " and "))
	}
	fmt.Fprintln(env.Err)
	stop := view.start(ctx)
	err = engine.Apply(ctx, plan)
	stop()
	return plan, err
}

// Destroy deletes everything that the searches find, after a question.
func (o *Options) Destroy(ctx context.Context, env Environment, searches ...Search) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	opened, err := o.openSearches(ctx, env, searches)
	defer func() { err = errors.Join(err, opened.close()) }()
	if err != nil {
		return err
	}
	finding, err := opened.discover(ctx)
	if err != nil {
		return err
	}
	view := newProgress(env)
	// The lists are the truth of a deletion. Its own state is not saved.
	engine := rg.NewEngine(finding.Graph, rg.NewMemory(), env.engine(view))
	plan, err := engine.PlanDestroy(ctx)
	if err != nil {
		return err
	}
	if err := o.print(env, plan); err != nil {
		return err
	}
	printRemaining(env, finding.Remaining)
	if o.Plan {
		if plan.Empty() {
			return nil
		}
		return ErrChanges
	}
	if !plan.Empty() {
		if err := Confirm(env, o.Yes, fmt.Sprintf("Delete these %d resources?", plan.Count(rg.Delete))); err != nil {
			return err
		}
		stop := view.start(ctx)
		err := engine.Destroy(ctx, plan)
		stop()
		if err != nil {
			return err
		}
		if finding, err = opened.checkDeleted(ctx, env); err != nil {
			return err
		}
		printRemaining(env, finding.Remaining)
	}
	if err := opened.remove(); err != nil {
		return err
	}
	if len(finding.Remaining) > 0 {
		return ErrRemaining
	}
	if !o.Part {
		fmt.Fprintln(env.Err, "nothing is left")
	}
	return nil
}

// openedSearch is a search with its state file.
type openedSearch struct {
	Search
	state *rg.File
}

type openedSearches []openedSearch

// openSearches opens the state files, and waits until lists contain what they record. After an error, too, its result is to be closed.
func (o *Options) openSearches(ctx context.Context, env Environment, searches []Search) (opened openedSearches, _ error) {
	for _, s := range searches {
		state, err := o.open(env, s.State, s.Scope)
		if err != nil {
			return opened, err
		}
		opened = append(opened, openedSearch{s, state})
		if err := o.awaitLists(ctx, env, state.Newest()); err != nil {
			return opened, err
		}
	}
	return opened, nil
}

// discover returns what all searches find.
func (s openedSearches) discover(ctx context.Context) (all Finding, err error) {
	var nodes []*rg.Node
	for _, one := range s {
		found, err := one.Discover(ctx, one.state.Recorded)
		if err != nil {
			return Finding{}, err
		}
		nodes, all.Remaining = append(nodes, found.Graph.Nodes()...), append(all.Remaining, found.Remaining...)
	}
	all.Graph, err = rg.New(nodes...)
	return all, err
}

// checkDeleted searches again after a deletion. Something that was to be deleted is an error.
func (s openedSearches) checkDeleted(ctx context.Context, env Environment) (Finding, error) {
	finding, err := s.discover(ctx)
	if err != nil {
		return Finding{}, fmt.Errorf("looking for what is left: %w", err)
	}
	if remaining := finding.Graph.Nodes(); len(remaining) > 0 {
		for _, n := range remaining {
			fmt.Fprintf(env.Err, "left: %s %s\n", n.Kind, n.ID)
		}
		return Finding{}, fmt.Errorf("%d resources that were deleted are still there; run the same command again", len(remaining))
	}
	return finding, nil
}

func (s openedSearches) close() (err error) {
	for _, one := range s {
		err = errors.Join(err, one.state.Close())
	}
	return err
}

func (s openedSearches) remove() error {
	for _, one := range s {
		if err := one.state.Remove(); err != nil {
			return err
		}
	}
	return nil
}

func (env Environment) engine(view *progress) rg.Options {
	return rg.Options{Classify: awsgraph.Classify, ConsistencyWindow: env.ConsistencyWindow, Timeout: env.Timeout, Clock: env.Clock, Events: view.event}
}

// open opens a state file for a scope.
func (o *Options) open(env Environment, name string, scope map[string]string) (*rg.File, error) {
	path := o.StateFile
	if path == "" {
		if env.StateHome == "" {
			return nil, &UsageError{Err: errors.New("the user has no home directory: pass --state-file")}
		}
		path = filepath.Join(env.StateHome, "hypershift", name+".json")
	}
	state, err := rg.OpenFile(path)
	if err != nil {
		return nil, err
	}
	if err := state.CheckScope(scope); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; the state is in %s", err, state.Path()), state.Close())
	}
	return state, nil
}

// awaitLists waits until lists contain the resources that an interrupted command created a moment ago. Otherwise it would be left behind.
func (o *Options) awaitLists(ctx context.Context, env Environment, newest time.Time) error {
	wait := env.ConsistencyWindow - env.Clock.Since(newest)
	if wait <= 0 {
		return nil
	}
	fmt.Fprintf(env.Err, "waiting %s: something was created a moment ago, and AWS may not list it yet\n", wait.Round(time.Second))
	select {
	case <-env.Clock.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func printRemaining(env Environment, remaining []string) {
	if len(remaining) == 0 {
		return
	}
	fmt.Fprintln(env.Err, "not deleted:")
	for _, r := range remaining {
		fmt.Fprintf(env.Err, "  %s\n", r)
	}
}

// jsonStep is a step of a plan in JSON.
type jsonStep struct {
	Action  rg.Action   `json:"action"`
	Kind    string      `json:"kind"`
	Name    string      `json:"name,omitempty"`
	ID      string      `json:"id,omitempty"`
	Changes []rg.Change `json:"changes,omitempty"`
}

func (o *Options) print(env Environment, plan *rg.Plan) error {
	if o.Output == "text" {
		plan.Write(env.Out, rg.WriteOptions{Verbose: o.Verbose, Palette: env.Palette})
		return o.printCost(env, plan)
	}
	steps := []jsonStep{}
	for _, s := range plan.Steps() {
		steps = append(steps, jsonStep{Action: s.Action, Kind: s.Node.Kind, Name: s.Node.Name, ID: s.Observed.ID, Changes: s.Changes})
	}
	return WriteJSON(env.Out, map[string]any{"steps": steps})
}

// printCost prints the cost of a plan's new resources, if they are not free of charge.
func (o *Options) printCost(env Environment, plan *rg.Plan) error {
	created := map[string]int{}
	for _, s := range plan.Steps() {
		if s.Action == rg.Create {
			created[s.Node.Kind]++
		}
	}
	cost, err := listprices.EstimateOf(created)
	if err != nil || cost == nil {
		return err
	}
	fmt.Fprintf(env.Out, "the new resources cost %s\n", cost)
	return nil
}

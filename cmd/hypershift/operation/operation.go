// Package operation runs a graph of resources for a command: flags that all commands have, the plan, the question before a
// deletion, progress, and the result.
package operation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go/middleware"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/listprices"
	"github.com/hosted-control-planes/hypershift/internal/cli/palette"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Environment is a command's access to the system.
type Environment struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal: a person sees Err and answers on In. Width is its width.
	Terminal bool
	Width    int
	// Palette colours Out.
	Palette palette.Palette
	Clock   clock.WithTicker
	// StateHome is the directory of the state files.
	StateHome string
	// Secret reads a Secret of the management cluster.
	Secret func(ctx context.Context, namespace, name string) (map[string][]byte, error)
	// Middleware is added to every AWS client.
	Middleware []func(*middleware.Stack) error
	// ConsistencyWindow is how long AWS may not list a created resource.
	ConsistencyWindow time.Duration
	// Timeout of the attempts for one resource. Default: the engine's timeout.
	Timeout time.Duration
}

func (env Environment) engine(view *progress) rg.Options {
	return rg.Options{Classify: awsgraph.Classify, ConsistencyWindow: env.ConsistencyWindow, Timeout: env.Timeout, Clock: env.Clock, Events: view.event}
}

// System is the environment of a process.
func System() Environment {
	env := Environment{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Clock: clock.RealClock{}, ConsistencyWindow: awsx.ConsistencyWindow, Width: 80, Secret: readSecret}
	env.Terminal = term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd()))
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		env.Width = width
	}
	env.Palette = palette.New(term.IsTerminal(int(os.Stdout.Fd())), os.Getenv)
	env.StateHome = os.Getenv("XDG_STATE_HOME")
	if home, err := os.UserHomeDir(); env.StateHome == "" && err == nil {
		env.StateHome = filepath.Join(home, ".local", "state")
	}
	return env
}

// UsageError is an error of the command line. No call was made.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// RunError is an error of a command with a correct command line.
type RunError struct{ Err error }

func (e *RunError) Error() string { return e.Err.Error() }
func (e *RunError) Unwrap() error { return e.Err }

// Results that are no failure and have exit codes of their own.
var (
	ErrChanges   = errors.New("the plan has changes")
	ErrRemaining = errors.New("resources are left")
)

// Options are the flags of every command.
type Options struct {
	Plan bool
	// Verbose plans have every resource and every attribute.
	Verbose   bool
	Yes       bool
	Output    string
	StateFile string
	// Part is true if the deletion is a part of another one, which reports the remaining resources itself.
	Part bool
	Session

	recorded func(node string) bool
}

// Recorded is true if the state that Destroy has opened contains a creation of the node. Its outcome may be unknown.
func (o *Options) Recorded(node string) bool { return o.recorded != nil && o.recorded(node) }

// VerboseUsage describes the flag --verbose of commands with a plan.
const VerboseUsage = "with --plan: every resource, and every attribute in full"

// Flags adds the flags to a command; state is the default name of the state file.
func (o *Options) Flags(c *cobra.Command, destroy bool) {
	f := c.Flags()
	f.BoolVar(&o.Plan, "plan", false, "print what would be created, changed or deleted, and make no writing call")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, VerboseUsage)
	f.StringVarP(&o.Output, "output", "o", "text", "format of the plan: text or json")
	f.StringVar(&o.StateFile, "state-file", "", "file that records what was created (default: a file for the infra ID in the user's state directory)")
	if destroy {
		f.BoolVarP(&o.Yes, "yes", "y", false, "delete without asking")
	}
	o.Session.flags(c)
}

// Command returns a command that runs run. Errors that are not a UsageError become a RunError.
func Command(use, short, long string, run func(context.Context) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		err := run(c.Context())
		var usage *UsageError
		if err == nil || errors.As(err, &usage) {
			return err
		}
		return &RunError{Err: err}
	}}
}

// Check returns the errors of a validation as one UsageError.
func Check(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	slices.Sort(lines)
	return &UsageError{Err: errors.New(strings.Join(lines, "\n  "))}
}

func (o *Options) check() error {
	if o.Output != "text" && o.Output != "json" {
		return &UsageError{Err: errors.New("--output must be text or json")}
	}
	return nil
}

// state opens the state file of the cluster.
func (o *Options) state(env Environment, name string) (*rg.File, error) {
	path := o.StateFile
	if path == "" {
		if env.StateHome == "" {
			return nil, &UsageError{Err: errors.New("the user has no home directory: pass --state-file")}
		}
		path = filepath.Join(env.StateHome, "hypershift", name+".json")
	}
	return rg.OpenFile(path)
}

// Apply brings the graph to its desired state, and returns the ids. It returns ErrChanges for --plan, if there are changes.
func (o *Options) Apply(ctx context.Context, env Environment, name string, scope map[string]string, graph *rg.Graph) (_ *rg.Plan, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	state, err := o.state(env, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	if err := state.CheckScope(scope); err != nil {
		return nil, fmt.Errorf("%w; the state is in %s", err, state.Path())
	}
	view := newProgress(env)
	engine := rg.NewEngine(graph, state.State, env.engine(view))
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
	fmt.Fprintf(env.Err, "%d to create, %d to update, %d as desired; state in %s\n", plan.Count(rg.Create), plan.Count(rg.Modify), plan.Count(rg.None), state.Path())
	stop := view.start(ctx)
	err = engine.Apply(ctx, plan)
	stop()
	return plan, err
}

// Finding is the result of a deletion's search.
type Finding struct {
	Graph *rg.Graph
	// Remaining are resources that are not deleted, each with the reason.
	Remaining []string
}

// Destroy deletes everything that discover finds, after a question.
func (o *Options) Destroy(ctx context.Context, env Environment, name string, scope map[string]string, discover func(context.Context) (Finding, error)) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	state, err := o.state(env, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	if err := state.CheckScope(scope); err != nil {
		return fmt.Errorf("%w; the state is in %s", err, state.Path())
	}
	o.recorded = state.Recorded
	if err := o.awaitLists(ctx, env, state.Newest()); err != nil {
		return err
	}
	finding, err := discover(ctx)
	if err != nil {
		return err
	}
	// The lists are the truth of a deletion. Its own state is not saved.
	memory, err := rg.NewState(nil, func([]byte) error { return nil })
	if err != nil {
		return err
	}
	view := newProgress(env)
	engine := rg.NewEngine(finding.Graph, memory, env.engine(view))
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
		if finding, err = discover(ctx); err != nil {
			return fmt.Errorf("looking for what is left: %w", err)
		}
		if remaining := finding.Graph.Nodes(); len(remaining) > 0 {
			for _, n := range remaining {
				fmt.Fprintf(env.Err, "left: %s %s\n", n.Kind, n.ID)
			}
			return fmt.Errorf("%d resources that were deleted are still there; run the same command again", len(remaining))
		}
		printRemaining(env, finding.Remaining)
	}
	if err := state.Remove(); err != nil {
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

// Confirm asks a question and returns an error unless the answer is yes.
func Confirm(env Environment, yes bool, question string) error {
	if yes {
		return nil
	}
	if !env.Terminal {
		return &UsageError{Err: errors.New("the deletion needs --yes, because the input is not a terminal that can confirm it")}
	}
	fmt.Fprintf(env.Err, "%s Type yes: ", question)
	answer, err := bufio.NewReader(env.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
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

// WriteJSON writes a result.
func WriteJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// Result writes the result of a command to a file, or to standard output.
func Result(env Environment, path string, v any) error {
	if path == "" {
		return WriteJSON(env.Out, v)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644) //nolint:gosec // ids of resources, without secrets
	if err != nil {
		return fmt.Errorf("writing --output-file: %w", err)
	}
	if err := errors.Join(WriteJSON(file, v), file.Close()); err != nil {
		return fmt.Errorf("writing --output-file: %w", err)
	}
	fmt.Fprintf(env.Err, "wrote %s\n", path)
	return nil
}

// ParseTags parses key=value.
func ParseTags(list []string) (awsx.Tags, error) {
	tags := awsx.Tags{}
	for _, t := range list {
		key, value, ok := strings.Cut(t, "=")
		if !ok || key == "" {
			return nil, &UsageError{Err: fmt.Errorf("--additional-tags: %q is not key=value", t)}
		}
		tags[key] = value
	}
	return tags, nil
}

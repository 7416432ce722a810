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
	"github.com/hosted-control-planes/hypershift/internal/cli/palette"
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
	// AccessKey is the identity of commands without credentials in their flags; nil for the default credentials of the AWS SDK.
	AccessKey *awsx.AccessKey
	// Middleware is added to every AWS client.
	Middleware []func(*middleware.Stack) error
	// ConsistencyWindow is how long AWS may not list a created resource.
	ConsistencyWindow time.Duration
	// Timeout of the attempts for one resource. Default: the engine's timeout.
	Timeout time.Duration
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
}

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

// Package gobuild builds Go commands and shows that the build makes progress.
package gobuild

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
)

// Heartbeat is how long a build may be silent before a user wonders whether it hangs.
const Heartbeat = 10 * time.Second

// Spec configures a build.
type Spec struct {
	// Label begins every line of progress, e.g. "[1/3] etcd", or is the name of a step (package steps).
	Label    string
	Dir      string   // directory inside the module
	Packages []string // commands
	Flags    []string
	Env      []string // added to the environment of this process
	// Test builds the tests of the packages, each to a program, instead of commands.
	Test bool
	// Output is the file of the only command, or an existing directory for several: see Executable.
	Output string
	// Idle builds with the time that other programs leave: one package after the other, at the lowest priority.
	Idle bool
}

// Executable is the name of the program of a package.
func (s Spec) Executable(pkg string) string {
	if s.Test {
		return Executable(pkg) + ".test"
	}
	return Executable(pkg)
}

// Run builds commands of one module in one call, so that packages are loaded once and links do not wait for each other.
func Run(ctx context.Context, progress io.Writer, spec Spec) error {
	build := spec.buildCommands
	if spec.Test {
		build = spec.buildTests
	}
	if err := build(ctx, progress); err != nil {
		return fmt.Errorf("building %s: %w", strings.Join(spec.Packages, ", "), err)
	}
	for _, p := range spec.Packages {
		program := spec.Output
		if info, err := os.Stat(program); err == nil && info.IsDir() {
			program = filepath.Join(program, spec.Executable(p))
		}
		info, err := os.Stat(program)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("building %s: %w", p, err)
		}
		if err != nil || info.Mode()&0o111 == 0 {
			return fmt.Errorf("building %s: it is not a command", p)
		}
	}
	return nil
}

func (s Spec) buildCommands(ctx context.Context, progress io.Writer) error {
	args := slices.Concat([]string{"-buildvcs=false", "-o", s.Output}, s.Flags, s.Packages)
	return s.run(ctx, progress, "build", append([]string{"-v"}, args...)...)
}

// buildTests first compiles what the tests import: go test does not show which packages it compiles. It does not vet, because vet would
// check the dependencies, too.
func (s Spec) buildTests(ctx context.Context, progress io.Writer) error {
	imports, err := s.testImports(ctx)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"-buildvcs=false"}, s.Flags, imports)
	if err := s.run(ctx, progress, "build", append([]string{"-v"}, args...)...); err != nil {
		return err
	}
	args = slices.Concat([]string{"-c", "-vet=off", "-buildvcs=false", "-o", s.Output}, s.Flags, s.Packages)
	return s.run(ctx, progress, "test", args...)
}

// testImports are the packages that the tests import.
func (s Spec) testImports(ctx context.Context) ([]string, error) {
	const format = `{{range .TestImports}}{{println .}}{{end}}{{range .XTestImports}}{{println .}}{{end}}`
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"list", "-f", format}, s.Flags, s.Packages)...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the imports of tests: %w\n%s", err, failed.String())
	}
	// A test of another package than its own imports that.
	return slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(strings.Fields(string(out))))), func(i string) bool { return slices.Contains(s.Packages, i) }), nil
}

// Executable is the name that `go build` gives to a command: the last element of its import path that is not a major version.
func Executable(pkg string) string {
	name := path.Base(pkg)
	if majorVersion.MatchString(name) {
		return path.Base(path.Dir(pkg))
	}
	return name
}

var majorVersion = regexp.MustCompile(`^v([2-9]|[1-9][0-9]+)$`)

// Build runs `go build` with args in dir.
func Build(ctx context.Context, progress io.Writer, label, dir string, args ...string) error {
	return Spec{Label: label, Dir: dir}.run(ctx, progress, "build", append([]string{"-v"}, args...)...)
}

// compilers makes compilers and linkers collect garbage less often, which saves a fifth of their time, until one has the memory of this limit.
var compilers = []string{"GOGC=400", "GOMEMLIMIT=2GiB"}

// run runs a go command and shows that it makes progress.
func (s Spec) run(ctx context.Context, progress io.Writer, subcommand string, args ...string) error {
	program, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("this needs the Go toolchain in PATH (https://go.dev/dl/): %w", err)
	}
	args = slices.Insert(args, 0, subcommand)
	if s.Idle {
		// A priority that is set after the start of a Go program is not that of all its threads.
		program, args = "nice", slices.Concat([]string{"-n", "19", program, subcommand, "-p=1"}, args[1:])
	}
	out := &output{}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.Dir
	cmd.Env = slices.Concat(compilers, os.Environ(), s.Env)
	cmd.Stdout, cmd.Stderr = out, out
	// After an interrupt, go build cleans up; after a kill, it does not.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = Heartbeat

	end := steps.Begin(progress, s.Label)
	stop := beat(progress, s.Label, out)
	err = cmd.Run()
	stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out.tail())
	}
	end()
	return nil
}

// beat shows the progress of the build every few seconds, until stop is called.
func beat(progress io.Writer, label string, out *output) (stop func()) {
	started := time.Now()
	every, show := Heartbeat, func() {
		count, last := out.at()
		fmt.Fprintf(progress, "%s: %.0f s, %d steps, now %s\n", label, time.Since(started).Seconds(), count, last)
	}
	if r, shows := progress.(steps.Reporter); shows {
		every, show = time.Second, func() {
			_, last := out.at()
			r.At(label, last)
		}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				show()
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// output collects the output of go build: with -v a line per package, which is progress, or the reason of a failure.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for s := bufio.NewScanner(bytes.NewReader(o.buf.Bytes())); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

func (o *output) at() (count int, last string) {
	lines := o.lines()
	if len(lines) == 0 {
		return 0, "loading packages or linking"
	}
	return len(lines), lines[len(lines)-1]
}

func (o *output) tail() string {
	lines := o.lines()
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

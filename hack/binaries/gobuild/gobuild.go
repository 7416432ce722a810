// Package gobuild builds a Go command and shows that the build makes progress.
package gobuild

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Heartbeat is how long a build may be silent before a user wonders whether it hangs.
const Heartbeat = 10 * time.Second

// Spec configures a build.
type Spec struct {
	// Label begins every line of progress, e.g. "[1/3] etcd".
	Label   string
	Dir     string // directory inside the module
	Package string
	Flags   []string
	Env     []string // added to the environment of this process
	Output  string
}

// Run builds one command.
func Run(ctx context.Context, progress io.Writer, spec Spec) error {
	args := slices.Concat([]string{"-buildvcs=false", "-o", spec.Output}, spec.Flags, []string{spec.Package})
	if err := Build(ctx, progress, spec.Label, spec.Dir, spec.Env, args...); err != nil {
		return fmt.Errorf("building %s: %w", spec.Package, err)
	}
	info, err := os.Stat(spec.Output)
	if err != nil {
		return fmt.Errorf("building %s: %w", spec.Package, err)
	}
	if info.Mode()&0o111 == 0 {
		return fmt.Errorf("building %s: it is not a command", spec.Package)
	}
	return nil
}

// Build runs `go build` with args in dir, with env added to the environment of this process.
func Build(ctx context.Context, progress io.Writer, label, dir string, env []string, args ...string) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("this needs the Go toolchain in PATH (https://go.dev/dl/): %w", err)
	}
	out := &output{}
	cmd := exec.CommandContext(ctx, goTool, append([]string{"build", "-v"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	// After an interrupt, go build cleans up; after a kill, it does not.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = Heartbeat

	stop := beat(progress, label, out)
	err = cmd.Run()
	stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out.tail())
	}
	return nil
}

// beat prints the progress of the build every few seconds, until stop is called.
func beat(progress io.Writer, label string, out *output) (stop func()) {
	started := time.Now()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(Heartbeat)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				steps, last := out.at()
				fmt.Fprintf(progress, "%s: %.0f s, %d steps, now %s\n", label, time.Since(started).Seconds(), steps, last)
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
		return 0, "loading packages"
	}
	return len(lines), lines[len(lines)-1]
}

func (o *output) tail() string {
	lines := o.lines()
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

package pinned

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// heartbeat is how long a build may be silent before a person wonders whether it hangs.
const heartbeat = 10 * time.Second

// job is one binary to build.
type job struct {
	binary   binary
	pin      pin
	path     string
	progress io.Writer
	place    string // which of how many, e.g. "[2/3]"
}

func (j job) build(ctx context.Context) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("building %s needs the Go toolchain in PATH (https://go.dev/dl/): %w", j.binary.name, err)
	}
	dir := filepath.Dir(j.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the cache: %w", err)
	}
	if err := checkDisk(dir, j.pin.gib); err != nil {
		return fmt.Errorf("building %s: %w", j.binary.name, err)
	}

	// A name of its own and a rename: a build that was interrupted is never taken for a result.
	unfinished := fmt.Sprintf("%s.%d", j.path, os.Getpid())
	defer os.Remove(unfinished)
	out := &output{}
	cmd := exec.CommandContext(ctx, goTool, "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags="+j.pin.ldflags(j.pin.version), "-o", unfinished, j.binary.pkg)
	cmd.Dir = j.pin.path
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = out, out
	// go build cleans up after itself when it is interrupted, not when it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = heartbeat

	fmt.Fprintf(j.progress, "%s building %s %s: once per version, about %d min on two cores with nothing cached\n", j.place, j.binary.name, j.pin.version, j.binary.minutes)
	started := time.Now()
	stop := j.beat(started, out)
	err = cmd.Run()
	stop()
	if ctx.Err() != nil {
		return fmt.Errorf("building %s: %w", j.binary.name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("building %s %s: %w\n%s", j.binary.name, j.pin.version, err, out.tail())
	}
	info, err := os.Stat(unfinished)
	if err != nil {
		return fmt.Errorf("building %s: %w", j.binary.name, err)
	}
	if info.Mode()&0o111 == 0 {
		return errors.New("building " + j.binary.name + ": " + j.binary.pkg + " is not a command")
	}
	if err := os.Rename(unfinished, j.path); err != nil {
		return fmt.Errorf("building %s: %w", j.binary.name, err)
	}
	fmt.Fprintf(j.progress, "%s built %s in %.0f s, %d MB\n", j.place, j.binary.name, time.Since(started).Seconds(), info.Size()>>20)
	return nil
}

// beat prints where the build is every few seconds, until it is stopped.
func (j job) beat(started time.Time, out *output) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(heartbeat)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				lines, last := out.at()
				fmt.Fprintf(j.progress, "%s %s: %.0f s, %d steps, now %s\n", j.place, j.binary.name, time.Since(started).Seconds(), lines, last)
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// output collects what go build says: with -v a line per package, which is progress, or the reason of a failure.
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

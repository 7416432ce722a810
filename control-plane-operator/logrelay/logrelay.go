// Package logrelay runs a program whose log must not block it.
//
//	program ── standard output ──────────────────► standard output of the container
//	    └───── standard error ──► pipe ──► lines ──► standard error of the container
//
// The container runtime reads both streams. When it is stopped, or its disk does not write, a pipe is full after some ten
// kilobytes, and the next write blocks. kube-apiserver writes audit events to standard output from a buffer, and drops
// events when the buffer is full. But it logs each dropped event, and klog holds a lock while it writes: requests would
// wait for standard error. So the relay always reads standard error. It keeps up to limit bytes, and drops lines that do
// not fit. Later it logs how many lines are missing.
//
// A SIGTERM is passed on to the program, and the relay exits with the program's code. The relay is process 1 of the
// container: when it is killed, the kernel kills the program. Elsewhere the program gets a signal then.
package logrelay

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Command is the name of the subcommand.
const Command = "log-relay"

const (
	// limit is the size of the lines that wait to be written: a thousand lines and more.
	limit = 256 << 10
	// maxLine is the length after which a line is passed on in parts.
	maxLine = 64 << 10
	// flushTimeout is the time to write the last lines, with the reason for the end of the program. The kubelet's grace
	// period continues meanwhile.
	flushTimeout = 2 * time.Second
)

// A Relay runs one program.
type Relay struct {
	// Program is the program with its arguments.
	Program []string
	// stdout is inherited by the program. The lines of its standard error are written to stderr.
	stdout, stderr *os.File
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Relay, error) {
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() == 0 {
		return nil, errors.New("a program is needed: log-relay -- PROGRAM ARGUMENTS")
	}
	return &Relay{Program: fs.Args(), stdout: os.Stdout, stderr: os.Stderr}, nil
}

// An ExitError is the end of a program with an exit code other than 0. The program has logged the reason.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the program ended with exit code %d", e.Code) }

// Run returns when the program has ended.
func (r *Relay) Run(ctx context.Context) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("opening a pipe: %w", err)
	}
	defer func() { _ = read.Close() }()
	// The death signal is sent when the thread ends that has started the program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(r.Program[0], r.Program[1:]...) //nolint:gosec // the command line of our own container
	cmd.Stdout, cmd.Stderr = r.stdout, write
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		return fmt.Errorf("starting %s: %w", r.Program[0], err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // fails if the program has ended
	defer stop()

	lines := newLines()
	go lines.fill(read)
	written := make(chan struct{})
	go func() {
		defer close(written)
		lines.drain(r.stderr)
	}()
	err = cmd.Wait()
	select {
	case <-written:
	case <-time.After(flushTimeout):
	}
	return exit(err)
}

// exit converts the end of the program. A shell reports a signal in the same way.
func exit(err error) error {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return err
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &ExitError{Code: 128 + int(status.Signal())}
	}
	return &ExitError{Code: ended.ExitCode()}
}

// lines are the lines that wait to be written.
type lines struct {
	mu      sync.Mutex
	changed *sync.Cond
	waiting []byte
	dropped int
	// ended is true when the program has closed its standard error.
	ended bool
}

func newLines() *lines {
	l := &lines{}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// fill reads without ever waiting for the writer.
func (l *lines) fill(from io.Reader) {
	in := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		l.mu.Lock()
		switch {
		case len(line) == 0:
		case len(l.waiting)+len(line) > limit:
			l.dropped++
		default:
			l.waiting = append(l.waiting, line...)
		}
		l.ended = err != nil && !errors.Is(err, bufio.ErrBufferFull)
		l.changed.Signal()
		ended := l.ended
		l.mu.Unlock()
		if ended {
			return
		}
	}
}

// drain writes until all lines are written. It discards lines that cannot be written: nothing else can be done with them.
func (l *lines) drain(to io.Writer) {
	var spare []byte
	for {
		l.mu.Lock()
		for len(l.waiting) == 0 && !l.ended {
			l.changed.Wait()
		}
		text, dropped := l.waiting, l.dropped
		l.waiting, l.dropped = spare[:0], 0
		l.mu.Unlock()
		if len(text) == 0 {
			return
		}
		_, _ = to.Write(text)
		if dropped > 0 {
			_, _ = fmt.Fprintf(to, "%s: %d lines are missing here, because this log was not read\n", Command, dropped)
		}
		spare = text
	}
}

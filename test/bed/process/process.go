// Package process runs the servers of a test bed as child processes: each with a log file of its own, stopped by its pid.
package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	Name string
	Path string
	Args []string
	Env  []string // whole environment; nil inherits ours
	Dir  string
	Log  string // appended to, so that a restarted server keeps its history
}

// Process is a running child.
type Process struct {
	Spec
	cmd  *exec.Cmd
	done chan struct{}
	err  error // why it ended; valid once done is closed
}

// Start starts a child in a process group of its own: Ctrl-C in the terminal reaches the bed, which stops its children in order.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = spec.Env, spec.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	p := &Process{Spec: spec, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID identifies the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the child ended, once Done is closed; nil is exit code 0.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Kill ends the child the way a crash does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // the error is that it has ended
	<-p.done
}

// Stop asks the child to end, and kills it when it has not after grace.
func (p *Process) Stop(grace time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.Kill()
	}
}

// Ready polls a health endpoint until it answers 200; a child that ends meanwhile is an error with the tail of its log.
func (p *Process) Ready(ctx context.Context, client *http.Client, url string) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		if healthy(ctx, client, url) {
			return nil
		}
		select {
		case <-poll.C:
		case <-p.done:
			return p.wrap(fmt.Errorf("it ended: %w", errors.Join(p.err, errors.New("see its log"))))
		case <-ctx.Done():
			return p.wrap(fmt.Errorf("waiting for %s: %w", url, context.Cause(ctx)))
		}
	}
}

func healthy(ctx context.Context, client *http.Client, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (p *Process) wrap(err error) error {
	return fmt.Errorf("%s: %w\nlast lines of %s:\n%s", p.Name, err, p.Log, Tail(p.Log, 20))
}

// Tail returns the last lines of a log, for the message of a failure.
func Tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Ports are handed out below those that the kernel gives to whoever connects (from 32768 on, on Linux): one of those may be
// gone again before the child binds it.
const (
	firstPort = 20000
	lastPort  = 32000
)

var ports struct {
	sync.Mutex
	last int
}

// FreePort returns a port of loopback that nobody listens on and that it has not returned lately. Another process could take it
// before the child binds it; then the child ends and its log says so.
func FreePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	if ports.last == 0 {
		ports.last = firstPort + rand.IntN(lastPort-firstPort) // beds that run side by side begin in different places
	}
	for range lastPort - firstPort {
		if ports.last++; ports.last >= lastPort {
			ports.last = firstPort
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(ports.last)))
		if err != nil {
			continue
		}
		return ports.last, l.Close()
	}
	return 0, fmt.Errorf("no port from %d to %d is free", firstPort, lastPort)
}

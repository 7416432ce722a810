package namespace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kinds are the namespaces that everybody gets. A cgroup namespace is not among them: it can be made only when pid 1 is in its
// cgroups.
const kinds = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// Init is a pid 1 that waits, or runs.
type Init struct {
	cmd  *exec.Cmd
	gate io.WriteCloser
	done chan struct{}
}

// Start starts a program as pid 1 of new namespaces, in a session of its own. It has to call Await before anything else.
func Start(log *os.File, path string, args ...string) (*Init, error) {
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/" // what we were started in may go
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: kinds, Setsid: true}
	gate, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s in its namespaces: %w", path, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s in its namespaces: %w", path, err)
	}
	i := &Init{cmd: cmd, gate: gate, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(i.done)
	}()
	return i, nil
}

// PID is that of pid 1, seen from here.
func (i *Init) PID() int { return i.cmd.Process.Pid }

// Open lets pid 1 go on.
func (i *Init) Open() error {
	_, err := i.gate.Write([]byte{'.'})
	if err := errors.Join(err, i.gate.Close()); err != nil {
		return fmt.Errorf("letting process %d go on: %w", i.PID(), err)
	}
	return nil
}

// Done is closed when everything in the namespace has ended.
func (i *Init) Done() <-chan struct{} { return i.done }

// Kill ends everything in the namespace, as the loss of power does, and waits until it is gone.
func (i *Init) Kill() {
	_ = i.cmd.Process.Kill() // the error is that it has ended
	<-i.done
}

// Stop asks pid 1 to end, and kills it when it has not after grace.
func (i *Init) Stop(grace time.Duration) {
	_ = i.cmd.Process.Signal(syscall.SIGTERM) // the error is that it has ended
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-i.done:
	case <-t.C:
		i.Kill()
	}
}

// Await waits, inside, until whoever started us has opened the gate. An error says that he died before: then there is nobody
// who knows of us.
func Await() error {
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		return fmt.Errorf("nobody opened the gate: %w", err)
	}
	return nil
}

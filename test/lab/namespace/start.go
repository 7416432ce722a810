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

// kinds are the namespaces of every child. The cgroup namespace is created later, when pid 1 is in its cgroups.
const kinds = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// Init is a pid 1 that waits for Open, or runs.
type Init struct {
	cmd  *exec.Cmd
	gate io.WriteCloser
	done chan struct{}
}

// Start starts a program as pid 1 of new namespaces, in a session of its own. The program must call Await first.
func Start(log *os.File, path string, args ...string) (*Init, error) {
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/" // the current directory may be removed
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
		_ = cmd.Wait() // its log contains the exit status
		close(i.done)
	}()
	return i, nil
}

// PID is the process id of pid 1 in this namespace.
func (i *Init) PID() int { return i.cmd.Process.Pid }

// Open lets pid 1 continue.
func (i *Init) Open() error {
	_, err := i.gate.Write([]byte{'.'})
	if err := errors.Join(err, i.gate.Close()); err != nil {
		return fmt.Errorf("letting process %d go on: %w", i.PID(), err)
	}
	return nil
}

// Rebooted reports, after the end, whether the namespace has ended by a reboot. The kernel kills its pid 1 then.
func (i *Init) Rebooted() bool {
	status, known := i.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return known && status.Signaled() && status.Signal() == syscall.SIGHUP
}

// Done is closed when everything in the namespace has ended.
func (i *Init) Done() <-chan struct{} { return i.done }

// Kill kills all processes in the namespace, like a power cut, and waits until they are gone.
func (i *Init) Kill() {
	_ = i.cmd.Process.Kill() // the only error is that it has ended
	<-i.done
}

// Stop sends a signal to pid 1, and SIGKILL if it has not ended after grace.
func (i *Init) Stop(signal syscall.Signal, grace time.Duration) {
	_ = i.cmd.Process.Signal(signal) // the only error is that it has ended
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-i.done:
	case <-t.C:
		i.Kill()
	}
}

// Await waits, inside, until the parent calls Open. It returns an error if the parent died before, because then no process
// is responsible for this one.
func Await() error {
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		return fmt.Errorf("waiting for the parent process: %w", err)
	}
	return nil
}

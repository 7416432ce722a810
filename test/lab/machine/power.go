package machine

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// powerButton is the signal by which systemd, as pid 1, powers the machine off in order: SIGRTMIN+4.
const powerButton = syscall.Signal(34 + 4)

// PowerOn starts pid 1 of a machine: a program that calls Boot with the directory of the machine. Plug connects its network card.
// The cgroups of the machine stay when it ends.
func (s Spec) PowerOn(plug func(pid int) error, program string, args ...string) (*namespace.Init, error) {
	system, err := cgroup.Detect(cgroup.Family(s.Lab))
	if err != nil {
		return nil, err
	}
	if err := system.Make(s.Name, s.MemoryMiB); err != nil {
		return nil, err
	}
	pid1, err := s.start(program, args...)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return system.Enter(s.Name, pid1.PID()) },
		func() error { return plug(pid1.PID()) },
		pid1.Open,
	} {
		if err := step(); err != nil {
			pid1.Kill()
			return nil, err
		}
	}
	return pid1, nil
}

// start starts pid 1 with its console. The console of an instance is a terminal, because systemd writes to no other.
func (s Spec) start(program string, args ...string) (*namespace.Init, error) {
	log, err := os.OpenFile(s.path(ConsoleLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if s.Instance == nil {
		defer log.Close()
		return namespace.Start(log, program, args...)
	}
	console, err := namespace.OpenConsole(log)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	pid1, err := namespace.Start(console.Terminal, program, args...)
	if err != nil {
		return nil, errors.Join(err, console.Close())
	}
	go func() {
		<-pid1.Done()
		_ = console.Close() // the log contains the readable part
	}()
	return pid1, nil
}

// PowerOff powers a machine off in order, and cuts its power if it has not ended after grace.
func (s Spec) PowerOff(running *namespace.Init, grace time.Duration) {
	signal := syscall.SIGTERM
	if s.Instance != nil {
		signal = powerButton
	}
	running.Stop(signal, grace)
}

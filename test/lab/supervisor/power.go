package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// start turns a machine on.
func (all *machines) start(name string) error {
	m, err := all.find(name)
	if err != nil || m.pid1() != 0 {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// Clean up after the last run, which may have ended by itself.
	if err := m.cleanUp(); err != nil {
		return fmt.Errorf("starting machine %s: %w", name, err)
	}
	if m.running, err = all.lab.boot(m); err != nil {
		return fmt.Errorf("starting machine %s: %w", name, err)
	}
	m.cluster.changed()
	return nil
}

// boot starts pid 1 of a machine, and sets up what must be set up from outside.
func (s *supervisor) boot(m *machine) (*namespace.Init, error) {
	system, err := cgroup.Detect(cgroup.Family(m.spec.Lab))
	if err != nil {
		return nil, err
	}
	if err := system.Make(m.Name, m.MemoryMiB); err != nil {
		return nil, err
	}
	console, err := os.OpenFile(m.console(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer console.Close()
	pid1, err := namespace.Start(console, s.path("bin", "lab"), "pid1", "machine", m.spec.Dir)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return system.Enter(m.Name, pid1.PID()) },
		func() error { return s.plugIn(m, pid1.PID()) },
		pid1.Open,
	} {
		if err := step(); err != nil {
			pid1.Kill()
			return nil, err
		}
	}
	return pid1, nil
}

// plugIn connects a machine to the switch, or to its VPC.
func (s *supervisor) plugIn(m *machine, pid int) error {
	if id := m.instance(); id != "" {
		return s.cloud.Network().Plug(context.Background(), id, pid)
	}
	return plugIn(m.port(), pid)
}

// stop turns a machine off gracefully: its servers end first.
func (all *machines) stop(name string) error {
	return all.end(name, func(running *namespace.Init) { running.Stop(10 * time.Second) })
}

// kill cuts the power of a machine.
func (all *machines) kill(name string) error { return all.end(name, (*namespace.Init).Kill) }

func (all *machines) end(name string, end func(*namespace.Init)) error {
	m, err := all.find(name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return nil
	}
	end(m.running)
	m.running = nil
	if err := m.cleanUp(); err != nil {
		return fmt.Errorf("ending machine %s: %w", name, err)
	}
	return nil
}

// cleanUp removes the resources of a machine that is off.
func (m *machine) cleanUp() error {
	system, err := cgroup.Detect(cgroup.Family(m.spec.Lab))
	if err != nil {
		return err
	}
	return errors.Join(cgroup.Remove(context.Background(), system, m.Name), unplug(m.port()))
}

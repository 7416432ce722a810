package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
	"github.com/hosted-control-planes/hypershift/test/lab/clock"
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
	if m.stopped {
		if err := all.lab.cloud.StartInstance(context.Background(), m.InstanceID); err != nil {
			return fmt.Errorf("starting machine %s: %w", name, err)
		}
		m.stopped = false
	}
	if m.running, err = all.boot(m); err != nil {
		return fmt.Errorf("starting machine %s: %w", name, err)
	}
	m.cluster.changed()
	return nil
}

// boot starts pid 1 of a machine, and starts it again after a reboot.
func (all *machines) boot(m *machine) (*namespace.Init, error) {
	pid1, err := m.spec.PowerOn(func(pid int) error { return all.lab.plugIn(m, pid) }, all.lab.path("bin", "lab"), "pid1", "machine", m.spec.Dir)
	if err != nil {
		return nil, err
	}
	go func() {
		<-pid1.Done()
		if !pid1.Rebooted() {
			return
		}
		if err := all.start(m.Name); err != nil {
			all.lab.reportEvent("machine %s does not reboot: %v", m.Name, err)
		}
	}()
	return pid1, nil
}

// plugIn connects a machine to the switch, or to its VPC.
func (s *supervisor) plugIn(m *machine, pid int) error {
	if id := m.instance(); id != "" {
		return s.cloud.Network().Plug(context.Background(), id, pid)
	}
	return plugIn(m.port(), pid)
}

// stop turns a machine off gracefully: its servers end first. Its instance is stopped then.
func (all *machines) stop(name string) error {
	return all.end(name, true, func(m *machine) { m.spec.PowerOff(m.running, 10*time.Second) })
}

// forceStop cuts the power of a machine, and its instance is stopped.
func (all *machines) forceStop(name string) error {
	return all.end(name, true, func(m *machine) { m.running.Kill() })
}

// kill cuts the power of a machine. Its instance still counts as running, as that of a host that fails.
func (all *machines) kill(name string) error {
	return all.end(name, false, func(m *machine) { m.running.Kill() })
}

func (all *machines) end(name string, stopped bool, end func(*machine)) error {
	m, err := all.find(name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != nil {
		end(m)
		m.running = nil
		err = m.cleanUp()
	}
	if stopped && m.instantiated && !m.stopped { // also after its power was cut
		err = errors.Join(err, all.lab.cloud.StopInstance(context.Background(), m.InstanceID))
		m.stopped = true
	}
	if err != nil {
		return fmt.Errorf("ending machine %s: %w", name, err)
	}
	return nil
}

// setClock makes the clock of a running machine wrong by a duration, or right again. It is right after a start.
func (all *machines) setClock(name string, by time.Duration) error {
	m, err := all.find(name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return fmt.Errorf("setting the clock of machine %s: it is off", name)
	}
	if err := m.setClock(by); err != nil {
		return fmt.Errorf("setting the clock of machine %s: %w", name, err)
	}
	return nil
}

// setClock changes the clock of all processes except for pid 1, for which another thread waits; it only reaps.
func (m *machine) setClock(by time.Duration) (err error) {
	if m.skew != nil {
		err = m.skew.Stop()
		m.skew = nil
	}
	if err != nil || by == 0 {
		return err
	}
	m.skew, err = clock.Start(m.running.PID(), by)
	return err
}

// cleanUp removes the resources of a machine that is off.
func (m *machine) cleanUp() error {
	_ = m.setClock(0) // no process is left to fail
	system, err := cgroup.Detect(cgroup.Family(m.spec.Lab))
	if err != nil {
		return err
	}
	return errors.Join(cgroup.Remove(context.Background(), system, m.Name), unplug(m.port()))
}

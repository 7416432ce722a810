package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
)

// Down stops the lab in a directory, even a partial one, and removes its remains. The lab need not exist.
func Down(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	unlock, err := lock(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := down(ctx, o); err != nil {
		return err
	}
	if err := os.Remove(o.Dir); err != nil {
		return fmt.Errorf("removing the lab: %w", err)
	}
	return nil
}

// down leaves the directory empty, because the owner of its lock may start another lab there.
func down(ctx context.Context, o Options) error {
	s, err := readState(o.Dir)
	if s == nil || err != nil {
		return err
	}
	if err := s.end(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.removeCgroups, s.unplug, s.restoreHost, s.removeFiles} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("removing what is left of the lab in %s: %w", o.Dir, err)
		}
	}
	return nil
}

// end kills pid 1 of the lab. The kernel then kills everything in it. There is no state to save.
func (s *state) end(ctx context.Context) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for s.alive() {
		if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending supervisor %d: %w", s.PID, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ending supervisor %d: %w", s.PID, context.Cause(ctx))
		case <-again.C:
		}
	}
	return nil
}

// removeCgroups removes the cgroups of all machines.
func (s *state) removeCgroups(ctx context.Context) error {
	system, err := cgroup.Detect(cgroup.Family(s.Options.Dir))
	if err != nil {
		return err
	}
	return cgroup.Remove(ctx, system, "")
}

// unplug removes the network link, unless the end of the lab has removed it.
func (s *state) unplug(context.Context) error {
	link, err := netlink.LinkByName(hostLink)
	if err != nil || link.Attrs().Alias != s.Options.Dir {
		return nil //nolint:nilerr // it is gone, or belongs to another lab
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("removing link %s: %w", hostLink, err)
	}
	return nil
}

// removeFiles removes all files, the state last: without the state a second attempt would not find the lab.
func (s *state) removeFiles(context.Context) error {
	entries, err := os.ReadDir(s.Options.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == stateFile {
			continue
		}
		if err := os.RemoveAll(s.path(entry.Name())); err != nil {
			return err
		}
	}
	return os.Remove(s.path(stateFile))
}

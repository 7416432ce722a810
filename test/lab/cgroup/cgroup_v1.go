package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// v1 are all hierarchies of a host, including a mounted one of version 2: runc creates directories in it, too.
type v1 struct {
	hierarchies []hierarchy
	family      string
}

type hierarchy struct {
	dir     string
	kind    string // of file system
	options string // which controllers; needed to mount the same hierarchy again
}

// v1Controllers are all controllers of version 1.
var v1Controllers = []string{
	"blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory", "misc", "net_cls", "net_prio", "perf_event", "pids", "rdma",
}

// v1Options selects the mount options that identify the hierarchy.
func v1Options(options string) string {
	var kept []string
	for _, o := range strings.Split(options, ",") {
		switch {
		case slices.Contains(v1Controllers, o):
			kept = append(kept, o)
		case strings.HasPrefix(o, "name="):
			kept = append(kept, o, "none") // a hierarchy without controllers, such as systemd's
		}
	}
	return strings.Join(kept, ",")
}

func (h hierarchy) has(controller string) bool {
	return slices.Contains(strings.Split(h.options, ","), controller)
}

func (v v1) Make(machine string, memoryMiB int) error {
	for _, h := range v.hierarchies {
		for _, dir := range []string{filepath.Join(h.dir, v.family), filepath.Join(h.dir, v.family, machine)} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("making cgroup %s: %w", dir, err)
			}
			if h.has("cpuset") {
				if err := inheritCPUs(dir); err != nil {
					return err
				}
			}
		}
		if h.has("memory") && memoryMiB > 0 {
			limit := filepath.Join(h.dir, v.family, machine, "memory.limit_in_bytes")
			if err := write(limit, strconv.Itoa(memoryMiB<<20)); err != nil {
				return fmt.Errorf("limiting the memory of machine %s: %w", machine, err)
			}
		}
	}
	return nil
}

// inheritCPUs copies the values of the parent to a cpuset: a new one is empty and accepts no process.
func inheritCPUs(dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err == nil {
			err = write(filepath.Join(dir, file), strings.TrimSpace(string(value)))
		}
		if err != nil {
			return fmt.Errorf("giving %s its processors: %w", dir, err)
		}
	}
	return nil
}

func (v v1) Enter(machine string, pid int) error {
	for _, h := range v.hierarchies {
		if err := write(filepath.Join(h.dir, v.family, machine, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("moving process %d into cgroup %s of %s: %w", pid, machine, h.dir, err)
		}
	}
	return nil
}

func (v v1) Mount() error {
	if err := unmount(top); err != nil {
		return err
	}
	if err := unix.Mount("cgroup", top, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mounting cgroups: %w", err)
	}
	for _, h := range v.hierarchies {
		if err := os.MkdirAll(h.dir, 0o755); err != nil {
			return fmt.Errorf("mounting cgroups: %w", err)
		}
		if err := unix.Mount("cgroup", h.dir, h.kind, 0, h.options); err != nil {
			return fmt.Errorf("mounting cgroups (%s) at %s: %w", h.options, h.dir, err)
		}
	}
	return nil
}

// Delegate is empty in version 1: a directory in a hierarchy always has its controllers.
func (v v1) Delegate() error { return nil }

// Check requires the controllers without which a kubelet does not start.
func (v v1) Check() error {
	var missing []string
	for _, controller := range []string{"cpu", "cpuacct", "cpuset", "memory"} {
		if !slices.ContainsFunc(v.hierarchies, func(h hierarchy) bool { return h.has(controller) }) {
			missing = append(missing, controller)
		}
	}
	return without(missing)
}

// Host needs no change in version 1: a directory in a hierarchy always has its controllers.
func (v v1) Host() ([]Setting, error) { return nil, nil }

func (v v1) families() []string {
	var dirs []string
	for _, h := range v.hierarchies {
		dirs = append(dirs, filepath.Join(h.dir, v.family))
	}
	return dirs
}

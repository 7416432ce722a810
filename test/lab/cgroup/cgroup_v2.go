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

// v2 is the only hierarchy of a host, and its mount point.
type v2 struct{ root, family string }

const subtreeControl = "cgroup.subtree_control"

// needed are the controllers without which no kubelet starts. It uses others if they exist.
var needed = []string{"cpu", "memory", "pids"}

// Check requires a root with the controllers that can delegate them. The root of a container is an ordinary cgroup for
// the kernel, which does not delegate controllers from a cgroup with processes.
func (v v2) Check() error {
	have, err := words(filepath.Join(v.root, "cgroup.controllers"))
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(needed), func(c string) bool { return slices.Contains(have, c) })
	if len(missing) > 0 {
		return without(missing)
	}
	settings, err := v.Host()
	if err != nil || len(settings) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(v.root, "cgroup.type")); err != nil {
		return nil //nolint:nilerr // the root of the host has no type
	}
	processes, err := words(filepath.Join(v.root, "cgroup.procs"))
	if err != nil || len(processes) == 0 {
		return err
	}
	return fmt.Errorf("the root of this container has processes, so that it cannot have children with controllers: "+
		"start the container with the cgroups of the host (docker run --cgroupns=host), or move them: mkdir %[1]s/init && xargs -n1 < %[1]s/cgroup.procs > %[1]s/init/cgroup.procs", v.root)
}

// Host makes the root delegate the controllers to its children. With systemd, it does so already.
func (v v2) Host() ([]Setting, error) {
	given, err := words(filepath.Join(v.root, subtreeControl))
	if err != nil {
		return nil, err
	}
	var settings []Setting
	for _, controller := range needed {
		if !slices.Contains(given, controller) {
			settings = append(settings, Setting{File: filepath.Join(v.root, subtreeControl), Value: "+" + controller, Before: "-" + controller})
		}
	}
	return settings, nil
}

func (v v2) Make(machine string, memoryMiB int) error {
	parent := filepath.Join(v.root, v.family)
	dir := filepath.Join(parent, machine)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making cgroup %s: %w", dir, err)
	}
	if err := delegate(parent); err != nil {
		return err
	}
	if memoryMiB > 0 {
		if err := write(filepath.Join(dir, "memory.max"), strconv.Itoa(memoryMiB<<20)); err != nil {
			return fmt.Errorf("limiting the memory of machine %s: %w", machine, err)
		}
	}
	return nil
}

// delegate enables all controllers of a cgroup for its children.
func delegate(dir string) error {
	have, err := words(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range have {
		if err := write(filepath.Join(dir, subtreeControl), "+"+controller); err != nil {
			return fmt.Errorf("giving the children of %s the controller %s: %w", dir, controller, err)
		}
	}
	return nil
}

func words(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return strings.Fields(string(text)), nil
}

func (v v2) Enter(machine string, pid int) error {
	if err := write(filepath.Join(v.root, v.family, machine, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
		return fmt.Errorf("moving process %d into cgroup %s: %w", pid, machine, err)
	}
	return nil
}

func (v v2) Mount() error {
	if err := unmount(v.root); err != nil {
		return err
	}
	if err := unix.Mount("cgroup2", v.root, "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mounting cgroups: %w", err)
	}
	return nil
}

// Delegate moves pid 1, and with it all its children, to a child cgroup: the kernel does not delegate controllers from a
// cgroup with processes, and the root inside the machine is an ordinary cgroup for the kernel.
func (v v2) Delegate() error {
	aside := filepath.Join(v.root, "system")
	if err := os.Mkdir(aside, 0o755); err != nil && !os.IsExist(err) {
		return fmt.Errorf("making cgroup %s: %w", aside, err)
	}
	if err := write(filepath.Join(aside, "cgroup.procs"), strconv.Itoa(os.Getpid())); err != nil {
		return fmt.Errorf("moving to cgroup %s: %w", aside, err)
	}
	return delegate(v.root)
}

func (v v2) families() []string { return []string{filepath.Join(v.root, v.family)} }

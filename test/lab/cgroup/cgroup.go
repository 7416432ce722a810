package cgroup

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// top is the usual mount point of cgroups.
const top = "/sys/fs/cgroup"

// Family is the parent directory of all machines of the lab in dir. The host may also have the cgroups of another lab that
// has ended and is not removed yet.
func Family(dir string) string {
	return fmt.Sprintf("hypershift-lab-%08x", crc32.ChecksumIEEE([]byte(dir)))
}

// System is the version of cgroups on the host.
type System interface {
	// Check returns why the host cannot run machines.
	Check() error
	// Host lists the settings that the host needs before machines can be created.
	Host() ([]Setting, error)
	// Make creates the cgroups of a machine. A limit of 0 is no limit.
	Make(machine string, memoryMiB int) error
	// Enter moves a process into them.
	Enter(machine string, pid int) error
	// Mount, inside the machine, replaces the cgroup mounts of the host, if there are any, by the machine's mounts.
	Mount() error
	// Delegate, after Mount, makes the controllers available to the children of the machine's root. Systemd does so itself.
	Delegate() error
	// families are the parent directories of all machines.
	families() []string
}

// Setting is a changed file of the host, with its new and its previous value.
type Setting struct {
	File   string `json:"file"`
	Value  string `json:"value"`
	Before string `json:"before"`
}

// Detect detects the version on the host. The family is the lab's family.
func Detect(family string) (System, error) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("looking for cgroups: %w", err)
	}
	return detect(string(text), family)
}

// detect parses the mounts. A host with both versions, which systemd calls hybrid, has its controllers on v1.
func detect(mounts, family string) (System, error) {
	var hierarchies []hierarchy
	unified := ""
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		switch target, kind, options := fields[1], fields[2], fields[3]; kind {
		case "cgroup":
			hierarchies = append(hierarchies, hierarchy{dir: target, kind: kind, options: v1Options(options)})
		case "cgroup2":
			if unified == "" || target == top {
				unified = target // the first mount wins; later ones are private to others
			}
			hierarchies = append(hierarchies, hierarchy{dir: target, kind: kind})
		}
	}
	switch {
	case slices.ContainsFunc(hierarchies, func(h hierarchy) bool { return h.has("memory") }):
		return v1{hierarchies, family}, nil
	case unified != "":
		return v2{unified, family}, nil
	}
	return nil, errors.New("no cgroups with the memory controller are mounted")
}

// unmount removes the cgroup mounts of the host. A machine with a root file system of its own has none.
func unmount(dir string) error {
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmounting the cgroups of the host: %w", err)
	}
	return nil
}

// without returns an error that names the controllers that the kernel lacks.
func without(controllers []string) error {
	if len(controllers) == 0 {
		return nil
	}
	return fmt.Errorf("the kernel has no controller %s: it may need a boot parameter, such as cgroup_enable=memory", strings.Join(controllers, ", "))
}

// Remove removes the cgroups of a machine, or of all machines if the name is empty. It waits until the kernel has removed
// the last process; the processes must have been killed.
func Remove(ctx context.Context, s System, machine string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := remove(s, machine)
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-again.C:
		}
	}
}

func remove(s System, machine string) error {
	var dirs []string
	err := walk(s, func(dir string) error { dirs = append(dirs, dir); return nil })
	if err != nil {
		return err
	}
	slices.Reverse(dirs) // the innermost first
	for _, dir := range dirs {
		if machine != "" && !slices.Contains(strings.Split(dir, "/"), machine) {
			continue
		}
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing cgroup %s: %w", dir, err)
		}
	}
	return nil
}

func walk(s System, visit func(dir string) error) error {
	for _, family := range s.families() {
		err := filepath.WalkDir(family, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = visit(path)
			}
			// Cgroups appear and disappear during the walk.
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("looking through the cgroups in %s: %w", family, err)
		}
	}
	return nil
}

func write(path, value string) error {
	// No O_CREATE: a missing file means a missing controller.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

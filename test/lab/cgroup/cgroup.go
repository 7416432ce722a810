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

// top is where everybody looks for cgroups.
const top = "/sys/fs/cgroup"

// Family is the directory that all machines of the lab in dir are in. Another lab, that has ended and is to be removed, may be on
// the host too.
func Family(dir string) string {
	return fmt.Sprintf("hypershift-lab-%08x", crc32.ChecksumIEEE([]byte(dir)))
}

// System is how the host has its cgroups.
type System interface {
	// Check says what the host lacks, or what stands in the way.
	Check() error
	// Host lists what has to be set on the host before machines can be made.
	Host() ([]Setting, error)
	// Make makes the cgroups of a machine. A limit of 0 is none.
	Make(machine string, memoryMiB int) error
	// Enter moves a process into them.
	Enter(machine string, pid int) error
	// Mount, inside the machine, replaces what is mounted of the host by what is the machine's.
	Mount() error
	// families are the directories that all machines are in.
	families() []string
}

// Setting is a file of the host that has to have another value, and what to write to it in the end.
type Setting struct {
	File   string `json:"file"`
	Value  string `json:"value"`
	Before string `json:"before"`
}

// Detect finds out which version the host has. The family is that of the lab.
func Detect(family string) (System, error) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("looking for cgroups: %w", err)
	}
	return detect(string(text), family)
}

// detect reads what is mounted. A host with both, which systemd calls hybrid, has its controllers on v1.
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
				unified = target // who mounts it once more does so for himself
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

// without says which controllers the kernel does not have; nil for none.
func without(controllers []string) error {
	if len(controllers) == 0 {
		return nil
	}
	return fmt.Errorf("the kernel has no controller %s: it may have to be turned on when it is started, such as by cgroup_enable=memory", strings.Join(controllers, ", "))
}

// Remove removes the cgroups of a machine, or of all machines if it has no name, when the kernel has buried the last process in
// them. Somebody has killed those.
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
			// Cgroups come and go while we look.
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
	// Never O_CREATE: a file that is not there is a controller that is not.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

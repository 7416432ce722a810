package namespace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Detach hides mounts of this namespace from the outside. Unmounts outside still propagate into the namespace, so that it
// does not keep foreign disks busy.
func Detach() error { return mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "") }

// Share makes mounts visible to nested namespaces; pods may request this.
func Share() error { return mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "") }

// MountProc gives the namespace its own /proc.
func MountProc() error {
	return mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// MountTmpfs mounts an empty directory at target.
func MountTmpfs(target string) error { return mount("tmpfs", target, "tmpfs", 0, "mode=0755") }

// Bind mounts a file or a directory at target.
func Bind(source, target string) error { return mount(source, target, "", unix.MS_BIND, "") }

// BindTree mounts a directory at target, with everything that is mounted below it.
func BindTree(source, target string) error {
	return mount(source, target, "", unix.MS_BIND|unix.MS_REC, "")
}

// Cover mounts a directory at target, a directory of the host, to protect it from writes. The directories to keep stay
// visible at their paths, even below target.
func Cover(source, target string, keep ...string) error {
	var kept []*os.File
	for _, dir := range keep {
		if !strings.HasPrefix(dir, target+string(filepath.Separator)) {
			continue
		}
		f, err := os.Open(dir)
		if err != nil {
			return fmt.Errorf("covering %s: %w", target, err)
		}
		defer f.Close()
		kept = append(kept, f)
	}
	if err := os.MkdirAll(source, 0o755); err != nil {
		return fmt.Errorf("covering %s: %w", target, err)
	}
	if err := Bind(source, target); err != nil {
		return err
	}
	for _, f := range kept {
		if err := os.MkdirAll(f.Name(), 0o755); err != nil {
			return fmt.Errorf("covering %s: %w", target, err)
		}
		if err := mount(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), f.Name(), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}
	return nil
}

// Overlay mounts a read-only directory at target. Changes go to dir.
func Overlay(lower, dir, target string) error {
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	for _, d := range []string{upper, work, target} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("laying %s over %s: %w", dir, lower, err)
		}
	}
	return mount("overlay", target, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work))
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mounting %q at %s: %w", source, target, err)
	}
	return nil
}

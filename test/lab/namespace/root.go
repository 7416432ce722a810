package namespace

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// devices are those that every program may use, and those that containerd and a kubelet need.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty", "kmsg", "fuse", "net/tun"}

// MountKernel mounts the file systems that an operating system finds when it starts below its root: /proc, /sys, /dev with the
// devices that do not belong to the host, and /run. The terminal is the device of /dev/console. The uuid is the virtual machine's
// uuid, by which programs recognize the cloud.
func MountKernel(root, terminal, uuid string) error {
	at := func(path string) string { return filepath.Join(root, path) }
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"proc", "proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"tmpfs", "dev", "tmpfs", unix.MS_NOSUID, "mode=0755"},
		{"devpts", "dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5"},
		{"tmpfs", "dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"tmpfs", "run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755"},
	} {
		if err := os.MkdirAll(at(m.target), 0o755); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
		if err := mount(m.source, at(m.target), m.kind, m.flags, m.data); err != nil {
			return err
		}
	}
	for link, to := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(to, at("dev/"+link)); err != nil {
			return fmt.Errorf("making /dev: %w", err)
		}
	}
	for _, device := range devices {
		if _, err := os.Stat("/dev/" + device); err != nil {
			continue // this kernel does not have it
		}
		if err := BindFile("/dev/"+device, at("dev/"+device)); err != nil {
			return err
		}
	}
	if err := mountSys(at("sys"), at("run/sysfs"), uuid); err != nil {
		return err
	}
	return BindFile(terminal, at("dev/console"))
}

// mountSys makes a /sys with the directories of sysfs and a hypervisor's directory, which sysfs has only on some kernels, and in
// which no file can be created. It is where instances of AWS on Xen find their uuid.
func mountSys(target, scratch, uuid string) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return fmt.Errorf("mounting /sys: %w", err)
	}
	if err := mount("sysfs", scratch, "sysfs", flags, ""); err != nil {
		return err
	}
	if err := mount("sys", target, "tmpfs", flags, "mode=0755"); err != nil {
		return err
	}
	dirs, err := os.ReadDir(scratch)
	if err != nil {
		return fmt.Errorf("mounting /sys: %w", err)
	}
	const hypervisor = "hypervisor"
	for _, d := range dirs {
		if !d.IsDir() || d.Name() == hypervisor {
			continue
		}
		if err := BindDirectory(filepath.Join(scratch, d.Name()), filepath.Join(target, d.Name()), false); err != nil {
			return err
		}
	}
	err = os.Mkdir(filepath.Join(target, hypervisor), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(target, hypervisor, "uuid"), []byte(uuid+"\n"), 0o444)
	}
	if err == nil {
		err = unix.Unmount(scratch, unix.MNT_DETACH)
	}
	if err == nil {
		err = os.Remove(scratch)
	}
	if err != nil {
		return fmt.Errorf("mounting /sys: %w", err)
	}
	return nil
}

// BindFile mounts a file at a path that may not exist.
func BindFile(source, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("mounting %s: %w", source, err)
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return fmt.Errorf("mounting %s: %w", source, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("mounting %s: %w", source, err)
	}
	return Bind(source, target)
}

// BindDirectory mounts a directory at a path that may not exist. The programs of a machine must not be changed by it: they are
// mounted read-only.
func BindDirectory(source, target string, readOnly bool) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Errorf("mounting %s: %w", source, err)
	}
	if err := Bind(source, target); err != nil || !readOnly {
		return err
	}
	return mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

// SwitchRoot makes dir, which must be a mount, the root of the namespace, and unmounts the previous root.
func SwitchRoot(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("changing the root to %s: %w", dir, err)
	}
	// Both roots are stacked at one place, so that no directory for the previous one is needed.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root to %s: %w", dir, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting the previous root: %w", err)
	}
	return os.Chdir("/")
}

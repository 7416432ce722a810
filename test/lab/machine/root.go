package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// Paths at which an instance finds the lab: programs, and its own directory.
const (
	insidePrograms = insideLab + "/bin"
	insideLab      = "/opt/lab"
	insideMachine  = insideLab + "/machine"
)

// inside is the spec with the paths as the programs of an instance see them.
func (s Spec) inside() Spec {
	s.Lab, s.Dir = insideLab, insideMachine
	return s
}

// bootInstance does the work of the firmware and the initial file system, and execs systemd. It returns errors only.
func bootInstance(s Spec) error {
	// A cgroup namespace belongs to a thread until the program is replaced by exec. This thread must therefore call exec.
	runtime.LockOSThread()
	cgroups, err := cgroup.Detect(cgroup.Family(s.Lab))
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("making a cgroup namespace: %w", err)
	}
	for _, step := range []func() error{
		func() error { return setHostname(s) },
		namespace.Detach,
		func() error { return mountRoot(s) },
		func() error { return connect(s) },
		func() error { return recordNetworkCard(s) },
		func() error { return forward(s) },
		func() error { return firstBoot(s) },
		func() error { return namespace.SwitchRoot(s.path("root")) },
		cgroups.Mount,
		func() error { return setMemory(s.inside()) },
		namespace.Share,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	const systemd = "/usr/lib/systemd/systemd"
	// Systemd reads from its environment that it shares the kernel.
	err = unix.Exec(systemd, []string{systemd}, []string{"container=lab", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_COLORS=0"})
	return fmt.Errorf("starting %s: %w", systemd, err)
}

// mountRoot mounts the root file system with the disk of the instance above it, and its files from the lab.
func mountRoot(s Spec) error {
	console, err := os.Readlink("/proc/self/fd/1")
	if err != nil {
		return fmt.Errorf("looking for its console: %w", err)
	}
	root := s.path("root")
	in := func(path string) string { return filepath.Join(root, path) }
	for _, step := range []func() error{
		func() error { return namespace.Overlay(s.Instance.Root, s.path("disk"), root) },
		func() error { return namespace.MountKernel(root, console, s.uuid()) },
		// containerd mounts overlays, which cannot be above another one.
		func() error { return os.MkdirAll(s.path("containerd"), 0o755) },
		func() error { return namespace.BindDirectory(s.path("containerd"), in("/var/lib/containerd"), false) },
		func() error { return mountPrograms(s, in(insidePrograms)) },
		func() error { return namespace.BindDirectory(s.Dir, in(insideMachine), false) },
		func() error { return os.MkdirAll(s.path("logs"), 0o755) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// mountPrograms mounts the programs of the lab, which an image with the programs of a node has.
func mountPrograms(s Spec, target string) error {
	if !s.Instance.Kubelet {
		return nil
	}
	return namespace.BindDirectory(filepath.Join(s.Lab, "bin"), target, true)
}

// recordNetworkCard writes the record of udev, which an instance does not run, that the network card is initialized. systemd-networkd
// waits for it.
func recordNetworkCard(s Spec) error {
	if !s.Instance.Resolved {
		return nil
	}
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return fmt.Errorf("finding its link eth0: %w", err)
	}
	records := filepath.Join(s.path("root"), "run/udev/data")
	if err := os.MkdirAll(records, 0o755); err != nil {
		return fmt.Errorf("recording its network card: %w", err)
	}
	return os.WriteFile(filepath.Join(records, fmt.Sprintf("n%d", link.Attrs().Index)), []byte("I:1\n"), 0o644)
}

// uuid is the identifier of the virtual machine. The uuid of every instance of AWS starts with ec2.
func (s Spec) uuid() string {
	sum := sha256.Sum256([]byte(s.Name))
	h := hex.EncodeToString(sum[:])
	return "ec2" + strings.Join([]string{h[:5], h[5:9], h[9:13], h[13:17], h[17:29]}, "-")
}

// firstBoot fills the disk at the first boot: with the content of the machine image, and with the user data if Ignition reads it.
func firstBoot(s Spec) error {
	done := s.path("booted")
	if _, err := os.Stat(done); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	a := &agent{Spec: s.inside()}
	if err := a.installImage(s.path("root")); err != nil {
		return err
	}
	if s.Instance.Ignition {
		if err := ignite(s); err != nil {
			return err
		}
	}
	return os.WriteFile(done, nil, 0o644)
}

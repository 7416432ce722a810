package machine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// Boot is pid 1 of the machine in dir, from power on to the start of the agent or, on an instance, of systemd. It does not return:
// it execs the program that reaps, or systemd.
func Boot(dir string, reaper ...string) error {
	if err := namespace.Await(); err != nil {
		return err
	}
	s, err := Read(dir)
	if err != nil {
		return err
	}
	// A cgroup namespace belongs to a thread until the program is replaced by exec. This thread must therefore call exec.
	runtime.LockOSThread()
	if s.Instance != nil {
		return fmt.Errorf("booting instance %s: %w", s.Name, bootInstance(s))
	}
	for _, step := range []func(Spec) error{setHostname, mountCgroups, mountDisk, setMemory, connect, forward} {
		if err := step(s); err != nil {
			return fmt.Errorf("booting machine %s: %w", s.Name, err)
		}
	}
	if err := unix.Exec(reaper[0], reaper, os.Environ()); err != nil {
		return fmt.Errorf("booting machine %s: starting %s: %w", s.Name, reaper[0], err)
	}
	return nil
}

func setHostname(s Spec) error { return unix.Sethostname([]byte(s.hostname())) }

// hostname is the name of the machine. An instance has its whole DNS name, like on the operating systems of the worker images of
// AWS and OpenShift: a pod with the network of its node finds the name of its node.
func (s Spec) hostname() string {
	if s.Instance == nil {
		return s.Name
	}
	return s.Instance.Hostname
}

// mountCgroups mounts the cgroups of the machine as the roots.
func mountCgroups(s Spec) error {
	system, err := cgroup.Detect(cgroup.Family(s.Lab))
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("making a cgroup namespace: %w", err)
	}
	if err := namespace.Detach(); err != nil {
		return err
	}
	return errors.Join(system.Mount(), system.Delegate())
}

// mountDisk mounts /var and /run of the machine, and a /proc of its own.
func mountDisk(s Spec) error {
	for _, step := range []func() error{
		namespace.MountProc,
		func() error { return namespace.Cover(s.path("var"), "/var", s.Lab) },
		func() error { return namespace.MountTmpfs("/run") },
		func() error { return os.MkdirAll("/run/netns", 0o755) },
		namespace.Share,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

var memTotal = regexp.MustCompile(`(?m)^MemTotal:.*$`)

// setMemory makes /proc/meminfo report the memory of the machine. The limit itself is the limit of its cgroup.
func setMemory(s Spec) error {
	if s.MemoryMiB == 0 {
		return nil
	}
	const meminfo = "/proc/meminfo"
	text, err := os.ReadFile(meminfo)
	if err != nil {
		return err
	}
	text = memTotal.ReplaceAll(text, fmt.Appendf(nil, "MemTotal: %15d kB", s.MemoryMiB<<10))
	if err := os.WriteFile(s.path("meminfo"), text, 0o444); err != nil {
		return err
	}
	return namespace.Bind(s.path("meminfo"), meminfo)
}

// connect configures the network card, which has been plugged in.
func connect(s Spec) error {
	address, err := netlink.ParseAddr(s.Address)
	if err != nil {
		return fmt.Errorf("reading its address %s: %w", s.Address, err)
	}
	for name, own := range map[string][]*netlink.Addr{"lo": nil, "eth0": {address}} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("finding its link %s: %w", name, err)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("setting %s up: %w", name, err)
		}
		for _, address := range own {
			if err := netlink.AddrAdd(link, address); err != nil {
				return fmt.Errorf("giving %s address %s: %w", name, address, err)
			}
		}
	}
	if s.VPC {
		return connectToVPC(s)
	}
	if err := netlink.RouteAdd(&netlink.Route{Gw: net.ParseIP(s.Gateway)}); err != nil {
		return fmt.Errorf("routing through %s: %w", s.Gateway, err)
	}
	return nil
}

// forward enables forwarding of packets from and to pods. Packets between pods of one machine only pass its bridge;
// br_netfilter applies the rules of Services and NetworkPolicies to them, too.
func forward(Spec) error {
	for _, setting := range []string{
		"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding",
		"/proc/sys/net/bridge/bridge-nf-call-iptables", "/proc/sys/net/bridge/bridge-nf-call-ip6tables",
	} {
		if err := os.WriteFile(setting, []byte("1"), 0o644); err != nil {
			return fmt.Errorf("forwarding: %w", err)
		}
	}
	return nil
}

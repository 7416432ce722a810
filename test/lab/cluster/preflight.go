package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/images/rootfs"
	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
)

// Missing lists the requirements of such a lab that this host does not meet, and how to fix them, one line for each.
func Missing(ctx context.Context, o Options) []string {
	if os.Geteuid() != 0 {
		// The other requirements cannot be checked.
		return []string{"root: namespaces, mounts and cgroups need it; try again with sudo"}
	}
	var missing []string
	checks := []func(context.Context) string{namespaces, o.overlay, links, firewall, bridged, cgroups, compiler}
	if o.Cloud {
		checks = append(checks, python, image)
	}
	for _, check := range checks {
		if lack := check(ctx); lack != "" {
			missing = append(missing, lack)
		}
	}
	return missing
}

// namespaces also detects containers that run as root without capabilities.
func namespaces(ctx context.Context) string {
	probe := exec.CommandContext(ctx, "/bin/true")
	probe.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP}
	if err := probe.Run(); err != nil {
		return fmt.Sprintf("namespaces (%v): in a container, it has to be a privileged one", err)
	}
	return ""
}

// overlay tries an overlay mount like containerd, in the directory of the lab.
func (o Options) overlay(context.Context) string {
	dir, err := os.MkdirTemp(o.Dir, "overlay-")
	if err != nil {
		return fmt.Sprintf("a directory for temporary files: %v", err)
	}
	defer os.RemoveAll(dir)
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return fmt.Sprintf("a directory for temporary files: %v", err)
		}
	}
	// The module may have to be loaded: mount(2) does that.
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	if err := unix.Mount("overlay", filepath.Join(dir, "merged"), "overlay", 0, options); err != nil {
		return fmt.Sprintf("overlayfs (%v): modprobe overlay, or --dir on a disk that is not itself an overlay", err)
	}
	if err := unix.Unmount(filepath.Join(dir, "merged"), unix.MNT_DETACH); err != nil {
		return fmt.Sprintf("overlayfs: %v", err)
	}
	return ""
}

// links tries the two kinds of network link under unused names.
func links(context.Context) string {
	for _, link := range []netlink.Link{
		&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "labprobe0"}},
		&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "labprobe0"}, PeerName: "labprobe1"},
	} {
		if err := netlink.LinkAdd(link); err != nil {
			return fmt.Sprintf("links of type %s (%v): modprobe %[1]s", link.Type(), err)
		}
		if err := netlink.LinkDel(link); err != nil {
			return fmt.Sprintf("links of type %s: %v", link.Type(), err)
		}
	}
	return ""
}

// firewall checks the kernel features with which kube-proxy and the CNI plugins write their rules. Reading the rules loads
// modules.
func firewall(ctx context.Context) string {
	var lacks []string
	for _, command := range []string{"nft list ruleset", "iptables --version"} {
		fields := strings.Fields(command)
		if _, err := exec.LookPath(fields[0]); err != nil {
			lacks = append(lacks, fields[0])
			continue
		}
		if out, err := exec.CommandContext(ctx, fields[0], fields[1:]...).CombinedOutput(); err != nil {
			lacks = append(lacks, fmt.Sprintf("%s that works (%s)", fields[0], strings.TrimSpace(string(out))))
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return strings.Join(lacks, " and ") + ": apt-get install nftables iptables, and a kernel with nf_tables"
}

// bridged checks the requirements of NetworkPolicies between pods of one machine.
func bridged(context.Context) string {
	for path, lack := range map[string]string{
		"/proc/sys/net/bridge": "rules for packets that pass a bridge: modprobe br_netfilter",
		"/proc/sys/net/ipv6":   "IPv6: boot without ipv6.disable=1",
	} {
		if _, err := os.Stat(path); err != nil {
			return lack
		}
	}
	return ""
}

func cgroups(context.Context) string {
	system, err := cgroup.Detect("")
	if err == nil {
		err = system.Check()
	}
	if err != nil {
		return fmt.Sprintf("cgroups: %v", err)
	}
	return ""
}

// compiler checks for a C compiler, which only runc needs. It is not needed after runc is built.
func compiler(ctx context.Context) string {
	if built, err := pinned.Built("runc"); err != nil {
		return fmt.Sprintf("a checkout of this project: %v", err)
	} else if built {
		return ""
	}
	for _, program := range []string{"gcc", "pkg-config"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + ": apt-get install gcc libc6-dev pkg-config libseccomp-dev, to build runc"
		}
	}
	if err := exec.CommandContext(ctx, "pkg-config", "--exists", "libseccomp").Run(); err != nil {
		return "libseccomp: apt-get install libseccomp-dev, to build runc"
	}
	return ""
}

// python checks for Python, which the AWS emulator needs. Its installation checks the version.
func python(context.Context) string {
	if _, err := exec.LookPath("python3"); err != nil {
		return "python3: apt-get install python3 python3-venv, for the AWS emulator"
	}
	return ""
}

// image checks the requirements of building the root file systems of instances, and Ignition.
func image(ctx context.Context) string {
	if missing := rootfs.Missing(); missing != "" {
		return missing
	}
	if built, err := pinned.Built("ignition"); err != nil || built {
		return "" // the check of the compiler reports the error
	}
	if err := exec.CommandContext(ctx, "pkg-config", "--exists", "blkid").Run(); err != nil {
		return "libblkid: apt-get install libblkid-dev, to build Ignition"
	}
	return ""
}

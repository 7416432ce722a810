package rootfs

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed all:trees
var trees embed.FS

// suite is the release of Debian.
const suite = "bookworm"

// A recipe decides the content of a root.
type recipe struct {
	name     string
	packages []string
	// trees are the directories of files that are written over the packages' files.
	trees []string
}

const (
	// Ignition has no program that reads user data: Ignition runs before the machine boots, from its initial file system.
	Ignition = "ignition"
	// CloudInit has cloud-init, which runs as a unit.
	CloudInit = "cloud-init"
	// UbuntuLike also has cloud-init, and resolves names as the images of Ubuntu for AWS do: systemd-networkd configures the
	// subnet's DNS server and domain for the network card, systemd-resolved uses them, and /etc/resolv.conf names the stub of
	// systemd-resolved.
	UbuntuLike = "ubuntu-like"
)

// machine are the packages of every root: systemd, and the programs that containerd, a kubelet and user data call.
var machine = []string{
	"systemd", "systemd-sysv", "dbus",
	"ca-certificates", "curl", "openssl", "procps", "util-linux", "mount", "passwd",
	"iproute2", "nftables", "iptables", "conntrack", "ethtool", "socat", "kmod",
}

var recipes = []recipe{
	{name: Ignition, packages: machine, trees: []string{"machine"}},
	{name: CloudInit, packages: slices.Concat(machine, []string{"cloud-init"}), trees: []string{"machine", "cloud-init"}},
	{name: UbuntuLike, packages: slices.Concat(machine, []string{"cloud-init", "systemd-resolved"}), trees: []string{"machine", "cloud-init", "resolved"}},
}

// removed are the files and directories that each machine makes itself, or that would change the host.
var removed = []string{
	// A machine without this file has its first boot, in which systemd enables the units of the presets.
	"etc/machine-id", "var/lib/dbus/machine-id",
	"etc/hostname", "etc/resolv.conf", "etc/hosts",
	// Units are enabled by presets alone.
	"etc/systemd/system/*.wants",
	// These are settings of the whole kernel, and so of the host.
	"usr/lib/sysctl.d/*", "etc/sysctl.d/*", "etc/sysctl.conf",
	// The network card is configured before the boot, and no server answers a client of DHCP.
	"usr/sbin/dhclient",
	"var/cache/apt/*", "var/lib/apt/lists/*",
}

// masked are the units that cannot work in a machine that has no console with a user, and no devices.
var masked = []string{
	"systemd-firstboot.service", "systemd-modules-load.service", "systemd-remount-fs.service",
	"sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-fs-fuse-connections.mount", "dev-hugepages.mount",
	"modprobe@.service", "console-getty.service", "getty.target",
}

// Names lists every root that Ensure can build.
func Names() []string {
	var all []string
	for _, r := range recipes {
		all = append(all, r.name)
	}
	return all
}

func find(name string) (recipe, error) {
	i := slices.IndexFunc(recipes, func(r recipe) bool { return r.name == name })
	if i < 0 {
		return recipe{}, fmt.Errorf("no root file system named %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return recipes[i], nil
}

// key is the name of the root's directory in the cache.
func (r recipe) key() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, suite, r.packages, removed, masked, arguments)
	err := r.walk(func(path string, content []byte) error {
		_, err := fmt.Fprintf(sum, "%s %d\n%s", path, len(content), content)
		return err
	})
	if err != nil {
		return "", err
	}
	return r.name + "-" + hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// walk visits the files of its trees, by their path in the root.
func (r recipe) walk(visit func(path string, content []byte) error) error {
	for _, tree := range r.trees {
		dir := "trees/" + tree
		err := fs.WalkDir(trees, dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := trees.ReadFile(path)
			if err != nil {
				return err
			}
			return visit(strings.TrimPrefix(path, dir+"/"), content)
		})
		if err != nil {
			return fmt.Errorf("reading the files of %s: %w", r.name, err)
		}
	}
	return nil
}

// Package debian unpacks the packages of Debian whose programs the test environments run: the images of the lab, and HAProxy in
// the tests of the router. They are unpacked into a cache, not installed, so that the machine stays as it is.
package debian

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages are those with the programs of the images and all libraries that these load.
var packages = []string{
	"busybox-static", "catatonit",
	"haproxy", "libcap2", "libcrypt1", "libgcc-s1", "libgcrypt20", "libgpg-error0", "liblua5.3-0", "liblz4-1", "liblzma5",
	"libopentracing-c-wrapper0", "libopentracing1", "libpcre2-8-0", "libssl3", "libstdc++6", "libsystemd0", "libzstd1", "zlib1g",
	"conntrack", "iptables", "nftables", "libbsd0", "libedit2", "libgmp10", "libjansson4", "libmd0", "libmnl0",
	"libnetfilter-conntrack3", "libnfnetlink0", "libnftables1", "libnftnl11", "libtinfo6", "libxtables12", "netbase",
	"libc6",
}

// Unpack downloads and unpacks the packages below cache, once per list, and returns the root of the tree. An existing tree is not
// updated when Debian has newer packages: the images of a machine do not change by themselves.
func Unpack(ctx context.Context, cache string) (root string, err error) {
	sum := sha256.Sum256([]byte(strings.Join(packages, "\n")))
	root = filepath.Join(cache, "debian-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("making the cache of packages: %w", err)
	}
	unfinished, err := os.MkdirTemp(cache, "debian-unfinished-")
	if err != nil {
		return "", fmt.Errorf("making the cache of packages: %w", err)
	}
	defer os.RemoveAll(unfinished)
	if err := download(ctx, unfinished); err != nil {
		return "", err
	}
	archives, err := filepath.Glob(filepath.Join(unfinished, "*.deb"))
	if err != nil {
		return "", err
	}
	tree := filepath.Join(unfinished, "root")
	for _, archive := range archives {
		if err := run(ctx, unfinished, "dpkg-deb", "--extract", archive, tree); err != nil {
			return "", fmt.Errorf("unpacking packages of Debian: %w", err)
		}
	}
	// Another process may have unpacked them in the meantime.
	if err := os.Rename(tree, root); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keeping packages of Debian: %w", err)
	}
	return root, nil
}

// download refreshes the package lists of the machine when they are missing or too old for the archive.
func download(ctx context.Context, dir string) error {
	args := append([]string{"download"}, packages...)
	if run(ctx, dir, "apt-get", args...) == nil {
		return nil
	}
	if err := run(ctx, dir, "apt-get", "update", "-q"); err != nil {
		return fmt.Errorf("updating the package lists of Debian (needs root; run apt-get update): %w", err)
	}
	if err := run(ctx, dir, "apt-get", args...); err != nil {
		return fmt.Errorf("downloading packages of Debian: %w", err)
	}
	return nil
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// Command runs a program of the tree with the tree's libraries, e.g. Command(root, "/usr/sbin/haproxy", "-v").
func Command(root, program string, args ...string) (*exec.Cmd, error) {
	libraries, err := filepath.Glob(filepath.Join(root, "usr", "lib", "*-linux-gnu"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(root, program), args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	return cmd, nil
}

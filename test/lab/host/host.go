// Package host detects the remains of a lab on the machine.
package host

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
)

// A Host is the state of the machine at one moment: names by kind.
type Host map[string][]string

// files of the kernel list resources, one in each line, by kind.
var files = map[string]string{
	"mounts":        "/proc/self/mounts",
	"routes":        "/proc/net/route",
	"limits":        "/proc/sys/fs/inotify/max_user_instances",
	"forwarding":    "/proc/sys/net/ipv4/ip_forward",
	"shared memory": "/proc/sysvipc/shm",
}

// Look lists everything on this host that a lab in dir creates or changes.
func Look(dir string) (Host, error) {
	seen := Host{"processes": nil, "cgroups": nil}
	links, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing links: %w", err)
	}
	for _, link := range links {
		seen["links"] = append(seen["links"], link.Name)
	}
	for what, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", what, err)
		}
		seen[what] = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	for _, path := range commands {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(dir)) {
			seen["processes"] = append(seen["processes"], fmt.Sprintf("%s %q", path, text))
		}
	}
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == cgroup.Family(dir) {
			seen["cgroups"] = append(seen["cgroups"], path)
		}
		return nil //nolint:nilerr // cgroups of others may disappear during the walk
	})
	if err != nil {
		return nil, fmt.Errorf("listing cgroups: %w", err)
	}
	return seen, nil
}

// Differences lists additions and removals since before.
func Differences(before, now Host) []string {
	var said []string
	for _, what := range slices.Sorted(maps.Keys(before)) {
		for _, thing := range now[what] {
			if !slices.Contains(before[what], thing) {
				said = append(said, fmt.Sprintf("left behind, of the %s: %s", what, thing))
			}
		}
		for _, thing := range before[what] {
			if !slices.Contains(now[what], thing) {
				said = append(said, fmt.Sprintf("missing, of the %s: %s", what, thing))
			}
		}
	}
	return said
}

// Package host looks at what a lab could leave on the machine that it was on.
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

// A Host is what there is at one moment: things of a kind, by the kind.
type Host map[string][]string

// files are those of the kernel that tell, by the kind of things in them, a line for each.
var files = map[string]string{
	"mounts":        "/proc/self/mounts",
	"routes":        "/proc/net/route",
	"limits":        "/proc/sys/fs/inotify/max_user_instances",
	"forwarding":    "/proc/sys/net/ipv4/ip_forward",
	"shared memory": "/proc/sysvipc/shm",
}

// Look lists what a lab in dir has, or could change, on this host.
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
		return nil //nolint:nilerr // cgroups of others come and go while we look
	})
	if err != nil {
		return nil, fmt.Errorf("listing cgroups: %w", err)
	}
	return seen, nil
}

// Differences says what is there now and was not before, and the other way round.
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

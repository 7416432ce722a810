package rootfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newStore is an empty store with a builder that runs a script, and the file with a line for each of its calls.
func newStore(t *testing.T, script string) (s store, calls string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("building needs root")
	}
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	for name, text := range map[string]string{
		builder:      "#!/bin/sh\necho \"$*\" >>" + calls + "\nfor root; do :; done\n" + script,
		"dpkg-query": "#!/bin/sh\necho systemd 252\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return store{dir: filepath.Join(dir, "machines"), progress: t.Output()}, calls
}

const small = `mkdir -p $root/etc/systemd/system/multi-user.target.wants $root/usr/lib/sysctl.d $root/etc
echo x >$root/etc/machine-id
echo x >$root/usr/lib/sysctl.d/50-pid-max.conf
echo x >$root/etc/systemd/system/multi-user.target.wants/cron.service
`

func TestRootIsBuiltOnce(t *testing.T) {
	s, calls := newStore(t, small)
	root, err := s.ensure(t.Context(), CloudInit)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.ensure(t.Context(), CloudInit)
	if err != nil || again != root {
		t.Errorf("a second build returned %s, %v", again, err)
	}
	made, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(made), "\n") != 1 {
		t.Errorf("want one call of the builder, got %q, %v", made, err)
	}
	for _, want := range []string{"--include=systemd ", "--include=cloud-init ", suite} {
		if !strings.Contains(string(made), want) {
			t.Errorf("the builder was called with %q, without %s", made, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "..", "packages")); err != nil || string(text) != "systemd 252\n" {
		t.Errorf("the packages are recorded as %q, %v", text, err)
	}
	for _, path := range []string{"etc/machine-id", "usr/lib/sysctl.d/50-pid-max.conf", "etc/systemd/system/multi-user.target.wants"} {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil {
			t.Errorf("%s is in the root", path)
		}
	}
	for _, path := range []string{"usr/lib/systemd/system-preset/80-machine.preset", "etc/cloud/cloud.cfg.d/90-lab.cfg"} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error(err)
		}
	}
	if to, err := os.Readlink(filepath.Join(root, "etc/systemd/system/systemd-firstboot.service")); err != nil || to != "/dev/null" {
		t.Errorf("the unit of the first boot is %q, %v; want it masked", to, err)
	}
}

func TestFailedBuildReportsTheOutputAndLeavesNothing(t *testing.T) {
	s, _ := newStore(t, "mkdir -p $root/etc\necho no such package >&2\nexit 1\n")
	_, err := s.ensure(t.Context(), Ignition)
	if err == nil || !strings.Contains(err.Error(), "no such package") {
		t.Errorf("got %v, want the output of the builder", err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "[^.]*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it left %s, %v", left, err)
	}
}

func TestKeyFollowsTheRecipe(t *testing.T) {
	before, err := find(Ignition)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*recipe)) recipe {
		r := before
		r.packages, r.trees = slices.Clone(r.packages), slices.Clone(r.trees)
		change(&r)
		return r
	}
	first, err := before.key()
	if err != nil {
		t.Fatal(err)
	}
	for name, changed := range map[string]recipe{
		"a package more": with(func(r *recipe) { r.packages = append(r.packages, "strace") }),
		"a tree more":    with(func(r *recipe) { r.trees = append(r.trees, "cloud-init") }),
	} {
		if key, err := changed.key(); err != nil || key == first {
			t.Errorf("%s: the key stays %s, %v", name, key, err)
		}
	}
}

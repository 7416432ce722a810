package cgroup

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	for name, c := range map[string]struct {
		mounts []string
		want   System
	}{
		"a host of version 2": {
			mounts: []string{"cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate,memory_recursiveprot 0 0"},
			want:   v2{"/sys/fs/cgroup", "lab"},
		},
		"a host of version 1, where systemd and runc also use the other one": {
			mounts: []string{
				"tmpfs /sys/fs/cgroup tmpfs ro,nosuid,nodev,noexec,mode=755 0 0",
				"cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0",
				"cgroup /sys/fs/cgroup/systemd cgroup rw,nosuid,nodev,noexec,relatime,seclabel,xattr,name=systemd 0 0",
				"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,nodev,noexec,relatime,cpu,cpuacct 0 0",
				"cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0",
			},
			want: v1{[]hierarchy{
				{dir: "/sys/fs/cgroup/unified", kind: "cgroup2"},
				{dir: "/sys/fs/cgroup/systemd", kind: "cgroup", options: "name=systemd,none"},
				{dir: "/sys/fs/cgroup/cpu,cpuacct", kind: "cgroup", options: "cpu,cpuacct"},
				{dir: "/sys/fs/cgroup/memory", kind: "cgroup", options: "memory"},
			}, "lab"},
		},
		"a host of version 2 with a mounted hierarchy without controllers": {
			mounts: []string{"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0"},
			want:   v2{"/sys/fs/cgroup", "lab"},
		},
		"a host of version 2 that a network plugin has mounted a second time": {
			mounts: []string{"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "none /run/cilium/cgroupv2 cgroup2 rw 0 0"},
			want:   v2{"/sys/fs/cgroup", "lab"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := detect(strings.Join(c.mounts, "\n"), "lab")
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, %v\nwant %#v", got, err, c.want)
			}
		})
	}
	if _, err := detect("proc /proc proc rw 0 0", "lab"); err == nil {
		t.Error("a host without cgroups is accepted")
	}
}

// The files of a directory accept writes, like the files of version 2.
func TestVersion2(t *testing.T) {
	root := t.TempDir()
	set := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	system := v2{root, "lab"}

	set("cgroup.subtree_control", "memory pids io\n")
	settings, err := system.Host()
	control := filepath.Join(root, "cgroup.subtree_control")
	if want := []Setting{{File: control, Value: "+cpu", Before: "-cpu"}}; err != nil || !reflect.DeepEqual(settings, want) {
		t.Errorf("the host needs %v, %v; want %v", settings, err, want)
	}

	set("lab/cgroup.controllers", "memory\n")
	set("lab/cgroup.subtree_control", "")
	set("lab/m1/memory.max", "max")
	if err := system.Make("m1", 512); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"lab/cgroup.subtree_control": "+memory",
		"lab/m1/memory.max":          "536870912",
	} {
		if got, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", file, got, err, want)
		}
	}
}

func TestMissingRequirementsOfAVersion2Host(t *testing.T) {
	for name, c := range map[string]struct {
		controllers, given, processes string
		want                          string
	}{
		"one on which systemd runs":              {controllers: "cpuset cpu io memory pids", given: "cpu memory pids"},
		"a root that delegates no controllers":   {controllers: "cpuset cpu io memory pids"},
		"a kernel without the memory controller": {controllers: "cpuset cpu io pids", given: "cpu pids", want: "memory"},
		"a container whose root has processes":   {controllers: "cpu memory pids", given: "", processes: "1\n17\n", want: "processes"},
		"a container that is prepared":           {controllers: "cpu memory pids", given: "cpu memory pids", processes: ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range map[string]string{"cgroup.controllers": c.controllers, "cgroup.subtree_control": c.given, "cgroup.procs": c.processes, "cgroup.type": "domain"} {
				if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := v2{root, "lab"}.Check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestMissingRequirementsOfAVersion1Host(t *testing.T) {
	system, err := detect("cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0", "lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := system.Check(); err == nil || !strings.Contains(err.Error(), "cpuset") {
		t.Errorf("the error does not report that cpuset is missing: %v", err)
	}
}

package gobuild

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// compile builds a program that was never compiled before. It returns a line for each compiler and linker: priority, GOGC and GOMEMLIMIT.
func compile(t *testing.T, idle bool) []string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.test/program\n\ngo 1.26.0\n",
		"main.go": fmt.Sprintf("package main\n\nfunc main() { print(%q) }\n", time.Now()),
		"tool":    fmt.Sprintf("#!/bin/sh\necho $(nice) $GOGC $GOMEMLIMIT >>%s/seen\nexec \"$@\"\n", dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := Run(t.Context(), io.Discard, Spec{
		Label: "program", Dir: dir, Packages: []string{"."}, Flags: []string{"-toolexec=" + filepath.Join(dir, "tool")},
		Env: []string{"GOWORK=off"}, Output: filepath.Join(dir, "program"), Idle: idle,
	})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(seen)), "\n")
}

func TestCompilersCollectGarbageLessOften(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "") // restored at the end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, seen := range compile(t, false) {
		if !strings.HasSuffix(seen, " 400 2GiB") {
			t.Errorf("a compiler ran with priority, GOGC and GOMEMLIMIT %s", seen)
		}
	}
	t.Setenv("GOGC", "50")
	if seen := compile(t, false); !strings.Contains(seen[0], " 50 ") {
		t.Errorf("a compiler ran with priority, GOGC and GOMEMLIMIT %s, and not with the GOGC of the environment", seen[0])
	}
}

func TestIdleBuildHasTheLowestPriority(t *testing.T) {
	for _, seen := range compile(t, true) {
		if !strings.HasPrefix(seen, "19 ") {
			t.Errorf("a compiler ran with priority, GOGC and GOMEMLIMIT %s", seen)
		}
	}
}

func TestExecutableHasTheNameThatGoGivesIt(t *testing.T) {
	for pkg, want := range map[string]string{
		"k8s.io/kubernetes/cmd/kubelet":               "kubelet",
		"go.etcd.io/etcd/server/v3":                   "server",
		"sigs.k8s.io/cluster-api-provider-aws/v2":     "cluster-api-provider-aws",
		"github.com/containerd/containerd/v2/cmd/ctr": "ctr",
		"example.test/v1":                             "v1",
		"root-cas":                                    "root-cas",
		"./control-plane-operator/sidecar":            "sidecar",
	} {
		if got := Executable(pkg); got != want {
			t.Errorf("%s is built as %s, want %s", pkg, got, want)
		}
	}
}

package version

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestString(t *testing.T) {
	i := Info{Version: "1.2.3", Commit: "abc", Date: "2026-01-02T03:04:05Z", Go: "go1.26.0", Platform: "linux/arm64"}
	if got, want := i.String(), "1.2.3 (commit abc, date 2026-01-02T03:04:05Z, go1.26.0, linux/arm64)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The sidecar is the smallest program.
func TestLinkerSetsTheVersion(t *testing.T) {
	const pkg = "github.com/hosted-control-planes/hypershift/internal/version"
	program := filepath.Join(t.TempDir(), "sidecar")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X "+pkg+".version=1.2.3 -X "+pkg+".commit=abc -X "+pkg+".date=today",
		"-o", program, "github.com/hosted-control-planes/hypershift/control-plane-operator/sidecar")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "sidecar 1.2.3 (commit abc, date today, " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	if got := string(bytes.TrimSpace(out)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Contains(Get().String(), "()") || Get().Go == "" {
		t.Errorf("a build without linker flags is %q", Get())
	}
}

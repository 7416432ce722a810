package selfcopy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnInstalledCopyRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidecar")
	for range 2 { // again after the container has restarted
		if err := Install(path); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), path, "-test.list", "TestAnInstalledCopyRuns").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "TestAnInstalledCopyRuns") {
		t.Errorf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the copy: %v, %v", left, err)
	}
	if err := Install(filepath.Join(path, "not-a-directory")); err == nil {
		t.Error("installed below a file")
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/bed/registry"
)

// What is shipped as an example can be built, pushed and read again, and is the same each time.
func TestShippedDescriptions(t *testing.T) {
	reg, err := registry.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Stop() })
	releases := release.New(release.Options{Clock: clock.RealClock{}})
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			var image, digest bytes.Buffer
			if err := run(t.Context(), []string{"-f", file, "-push", reg.Host + "/release:test"}, &image); err != nil {
				t.Fatal(err)
			}
			archive := filepath.Join(t.TempDir(), "release.tar")
			if err := run(t.Context(), []string{"-f", file, "-tarball", archive}, &digest); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(image.String(), "@"+digest.String()) {
				t.Errorf("pushed %s, packed %s", image.String(), digest.String())
			}
			if info, err := os.Stat(archive); err != nil || info.Size() == 0 {
				t.Error(info, err)
			}
			rel, err := releases.Resolve(t.Context(), strings.TrimSpace(image.String()), nil)
			if err != nil {
				t.Fatal(err)
			}
			if line, known := release.LineOf(rel.Version); !known || !line.Supported() || rel.Components["kube-apiserver"] == "" {
				t.Errorf("version %s with %v cannot be hosted", rel.Version, rel.Components)
			}
		})
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("version: 1.36.3\nimages: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":           {nil, "say what with -f"},
		"no place":          {[]string{"-f", "kubernetes-1.36.3.yaml"}, "where to"},
		"no file":           {[]string{"-f", "none.yaml", "-tarball", "a"}, "none.yaml"},
		"an unknown field":  {[]string{"-f", broken, "-tarball", "a"}, "images"},
		"a name that isn't": {[]string{"-f", "kubernetes-1.36.3.yaml", "-push", "A B"}, "name to push to"},
	} {
		if err := run(t.Context(), c.args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A dynamic program of this machine replaces one of a package.
func TestImageOfAProgramContainsItsLibraries(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no program to test with: ", err)
	}
	loaded, err := exec.Command("ldd", shell).Output()
	if err != nil {
		t.Skip("no dynamic program to test with: ", err)
	}
	tree := debian{root: t.TempDir()}
	var want []string
	for _, field := range strings.Fields(string(loaded)) {
		if !filepath.IsAbs(field) {
			continue
		}
		source, err := filepath.EvalSymlinks(field)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(tree.root, field)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(source, at); err != nil {
			content, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, content, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, field)
	}
	files, err := tree.closure([]file{{path: "/bin/bash", source: shell}})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, f := range files[1:] {
		got = append(got, f.path)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	if _, err := (debian{root: t.TempDir()}).closure([]file{{path: "/bin/bash", source: shell}}); err == nil || !strings.Contains(err.Error(), "/bin/bash needs") {
		t.Errorf("a missing library is not reported: %v", err)
	}
}

func TestLinksAreResolvedInsideTheTree(t *testing.T) {
	tree := debian{root: t.TempDir()}
	for _, dir := range []string{"lib", "lib64", "usr/lib"} {
		if err := os.MkdirAll(filepath.Join(tree.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(tree.root, "lib/real"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for at, to := range map[string]string{
		"lib64/absolute": "/lib/real",
		"lib64/relative": "../lib/real",
		"lib64/twice":    "relative",
		"usr/lib/below":  "../../lib/real",
		"lib64/circle":   "circle",
		"lib64/broken":   "none",
	} {
		if err := os.Symlink(to, filepath.Join(tree.root, at)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		"/lib/real": true, "/lib64/absolute": true, "/lib64/relative": true, "/lib64/twice": true, "/lib/below": true,
		"/lib64/circle": false, "/lib64/broken": false, "/lib/none": false,
	} {
		source, found := tree.find(path)
		if found != want || found && source != filepath.Join(tree.root, "lib/real") {
			t.Errorf("%s is %s, %v", path, source, found)
		}
	}
}

package prebuilt

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestProgramIsOfExactlyThisSource(t *testing.T) {
	root, cache := t.TempDir(), t.TempDir()
	t.Setenv("HYPERSHIFT_CACHE", cache)
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := func() string {
		t.Helper()
		path, err := Program(t.Context(), root, "demo")
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got := program(); got != "" {
		t.Errorf("a directory without git has %s", got)
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"config", "user.name", "a"}, {"config", "user.email", "a@example.com"},
		{"commit", "--quiet", "--allow-empty", "--message", "first"},
	} {
		if _, err := git(t.Context(), root, args...); err != nil {
			t.Fatal(err)
		}
	}
	if got := program(); got != "" {
		t.Errorf("before a build there is %s", got)
	}
	dir, err := dirOf(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "demo")
	write(want, "")
	if got := program(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	source := filepath.Join(root, "main.go")
	write(source, "package main")
	if got := program(); got != "" {
		t.Errorf("with a change there is %s", got)
	}
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	if got := program(); got != want {
		t.Errorf("without the change: got %q, want %q", got, want)
	}
	if _, err := git(t.Context(), root, "config", "status.showUntrackedFiles", "no"); err != nil {
		t.Fatal(err)
	}
	write(source, "package main")
	if got := program(); got != "" {
		t.Errorf("with a file that git status does not show there is %s", got)
	}
	part := filepath.Join(root, "part")
	write(filepath.Join(part, "go.mod"), "module part")
	if _, err := dirOf(t.Context(), part); err == nil {
		t.Error("a directory of another repository has a hash")
	}
	if _, err := Build(t.Context(), io.Discard, root); !errors.Is(err, ErrChanged) {
		t.Errorf("the build of a checkout with changes: %v", err)
	}
}

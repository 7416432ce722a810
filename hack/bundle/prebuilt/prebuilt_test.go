package prebuilt

import (
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
	dir, err := Dir(t.Context(), root)
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
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A program that finds a method by its name, as text/template does, has every method of every package: 109 MB instead of 47.
func TestProgramHasOnlyWhatItUses(t *testing.T) {
	const limit = 60 << 20
	program := filepath.Join(t.TempDir(), "hypershift")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > limit {
		t.Errorf("the program has %d bytes, more than %d: go build -ldflags=-dumpdep lists ReflectMethod where methods are found by name", file.Size(), limit)
	}
}

package venv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMachineWithoutPythonIsToldWhatToInstall(t *testing.T) {
	old := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho No module named ensurepip >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for sentence, candidates := range map[string][]string{
		"no interpreter":            {"no-such-python"},
		"one that cannot make venv": {"no-such-python", old},
	} {
		t.Run(sentence, func(t *testing.T) {
			path, err := findPython(t.Context(), candidates)
			if err == nil {
				t.Fatalf("found %s", path)
			}
			if !strings.Contains(err.Error(), "apt install python3 python3-venv") {
				t.Errorf("the error does not help: %v", err)
			}
			if len(candidates) > 1 && !strings.Contains(err.Error(), "ensurepip") {
				t.Errorf("the error does not say what the interpreter lacks: %v", err)
			}
		})
	}
}

func TestAnInterruptedInstallationStartsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	part := filepath.Join(dir, "part")
	fills := 0
	fill := func(result error) func() error {
		return func() error {
			fills++
			if _, err := os.Stat(part); err == nil {
				t.Error("something of the last try was left")
			}
			return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(part, nil, 0o644), result)
		}
	}
	if err := Complete(dir, fill(errors.New("interrupted"))); err == nil {
		t.Error("the interruption was not reported")
	}
	if err := Complete(dir, fill(nil)); err != nil {
		t.Error(err)
	}
	if err := Complete(dir, fill(nil)); err != nil {
		t.Error(err)
	}
	if fills != 2 {
		t.Errorf("filled %d times, want 2", fills)
	}
}

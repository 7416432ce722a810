package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const demoOutput = `compiling the demo: 10 s, 61 steps
   12.3 s  · Create hosted cluster "one" with Kubernetes 1.36.3, SingleReplica.
   22.0 s  ✓ one is available 8.3 s after apply
   60.0 s  ✓ two is available 12.1 s after apply
`

func TestFirstAvailableClusterOfTheDemo(t *testing.T) {
	began := time.Now()
	lines := 0
	now := func() time.Time { lines++; return began.Add(time.Duration(lines) * time.Minute) }
	got, err := firstAvailable(strings.NewReader(demoOutput), began, now)
	if err != nil || got != time.Minute || lines != 1 {
		t.Errorf("got %s after %d lines, %v", got, lines, err)
	}
	if _, err := firstAvailable(strings.NewReader("The demo failed\n"), began, now); err == nil {
		t.Error("a demo without an available cluster was measured")
	}
}

func TestLabOfAFailedDemoIsRemoved(t *testing.T) {
	checkout := t.TempDir()
	if err := removeLab(t.Context(), checkout, nil); err != nil {
		t.Errorf("a demo that failed before it had a lab: %v", err)
	}
	if err := os.Mkdir(filepath.Join(checkout, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{"#!/bin/sh\n[ \"$1 $HOME\" = 'down /cold' ]\n": "", "#!/bin/sh\necho busy; exit 1\n": "busy"} {
		if err := os.WriteFile(filepath.Join(checkout, "bin", "lab"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		err := removeLab(t.Context(), checkout, []string{"HOME=/cold"})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", script, err)
		}
	}
}

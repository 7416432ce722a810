package main

import (
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

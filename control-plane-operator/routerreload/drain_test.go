package routerreload

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// drained is a Drainer with a master that records commands with their times.
type drained struct {
	mu       sync.Mutex
	clock    *clocktesting.FakeClock
	start    time.Time
	commands []string
	// connections are the numbers that HAProxy reports one after the other. The last one is repeated.
	connections []int
	refusal     string
}

func (d *drained) answer(command string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case strings.Contains(command, "disable frontend"):
		d.commands = append(d.commands, fmt.Sprintf("%s after %s", command, d.clock.Since(d.start)))
		return d.refusal + "\n"
	case command == "show proc":
		return table
	case command == "@!30 show info":
		n := d.connections[0]
		if len(d.connections) > 1 {
			d.connections = d.connections[1:]
		}
		return fmt.Sprintf("CurrConns: %d\n", n)
	}
	return "CurrConns: 0\n"
}

// run drains while the clock advances, and returns the duration on that clock.
func (d *drained) run(t *testing.T) (time.Duration, error) {
	d.clock = clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	d.start = d.clock.Now()
	drainer := &Drainer{master: playWith(t, d.answer), timeout: 20 * time.Second, clock: d.clock}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- drainer.Run(ctx) }()
	for {
		select {
		case err := <-done:
			return d.clock.Since(d.start), err
		default:
			if d.clock.HasWaiters() {
				d.clock.Step(100 * time.Millisecond)
			}
		}
	}
}

func TestDrainDisablesTheFrontendAndWaitsForConnections(t *testing.T) {
	d := &drained{connections: []int{2, 1, 1, 0}}
	took, err := d.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"@1 disable frontend hosts after 3s"}; !slices.Equal(d.commands, want) {
		t.Errorf("commands %q, want %q", d.commands, want)
	}
	if took < 3900*time.Millisecond || took > 5*time.Second {
		t.Errorf("returned after %s; the last connection ended 0.9 s after the frontend was disabled", took)
	}
}

func TestDrainEndsAfterTheTimeout(t *testing.T) {
	d := &drained{connections: []int{1}}
	took, err := d.run(t)
	if err != nil || took < 20*time.Second || took > 21*time.Second {
		t.Errorf("returned after %s with %v, want 20 s", took, err)
	}
}

func TestDrainFailsWhenHAProxyRefuses(t *testing.T) {
	d := &drained{connections: []int{0}, refusal: "No such frontend."}
	if _, err := d.run(t); err == nil || !strings.Contains(err.Error(), "No such frontend") {
		t.Errorf("got %v", err)
	}
}

func TestDrainFailsWithoutAMaster(t *testing.T) {
	d := &Drainer{master: master(filepath.Join(t.TempDir(), "none")), timeout: time.Second, clock: clocktesting.NewFakeClock(time.Now())}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that it does not wait for clients
	if err := d.Run(ctx); err == nil {
		t.Error("a drain that reached no HAProxy succeeded")
	}
}

func TestArgumentsOfDrain(t *testing.T) {
	if _, err := ParseDrain(nil); err == nil {
		t.Error("a drain without a socket is accepted")
	}
	if d, err := ParseDrain([]string{"--master=/run/master.sock", "--timeout=7s"}); err != nil || d.timeout != 7*time.Second {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTheReloaderHasNoListenFlag(t *testing.T) {
	if _, err := Parse([]string{"--config=a", "--master=b", "--listen=:9445"}); err == nil {
		t.Error("--listen is accepted")
	}
}

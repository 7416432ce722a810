package crashtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A Scenario is a new test environment with one controller in it.
type Scenario struct {
	Cluster *Cluster
	// Cloud returns the state of AWS as text. The text of two equal runs is equal. It is nil for a controller that does
	// not call AWS.
	Cloud func() string
	// Start creates the controller, like a process that starts with empty caches. It returns a function that reconciles
	// every object that the controller watches once (a pass).
	Start func() (pass func(context.Context) error)
	// OtherControllers does, between two passes, the work of other controllers, kubelets and AWS. It may be nil.
	OtherControllers func(context.Context) error
	// Advance advances the clock.
	Advance func(time.Duration)
	// Ready describes why the controller has not converged yet, or returns "". Without it, a controller that
	// never does anything would pass.
	Ready func(context.Context) string
	// MaxPasses is the number of passes within which the controller must converge, maxPasses if it is 0.
	MaxPasses int
	// Delete deletes the object under test, as a user does.
	Delete func(context.Context) error
	// Mask replaces the parts of a snapshot that differ between runs, such as random names. It may be nil.
	Mask func(string) string
}

// Setup creates a Scenario. Every call creates a new test environment.
type Setup func(t testing.TB) *Scenario

const (
	// maxPasses is the number of passes within which a controller must converge.
	maxPasses = 60
	// tick is how far the clock advances between two passes.
	tick = 20 * time.Second
	// idlePasses is the number of consecutive passes without a write after which a controller has converged.
	idlePasses = 3
)

// CrashConsistency runs the scenario once without a crash. Then it repeats the run for every write of that run, crashes
// the controller after this write, restarts it, and compares the state to which it converges.
func CrashConsistency(t *testing.T, setup Setup) {
	t.Helper()
	baseline := setup(t)
	converge(t, baseline, baseline.Start())
	want, writes := baseline.snapshot(t), baseline.calls().Log(0)
	for n := 1; n <= len(writes); n++ {
		if isSkipped(n) {
			continue
		}
		t.Run(fmt.Sprintf("crashes after write %02d %s", n, slug(writes[n-1])), func(t *testing.T) {
			crashAt(t, setup, n, want)
		})
	}
}

// isSkipped returns whether -short leaves out the n-th write, counted from 1. The first one is never left out.
func isSkipped(n int) bool { return testing.Short() && n%5 != 1 }

func crashAt(t testing.TB, setup Setup, n int, want string) {
	t.Helper()
	s := setup(t)
	s.crashDuring(t, n)
	converge(t, s, s.Start())
	s.compareState(t, want)
}

// FaultTolerance compares the state of a run with the fault that inject starts and of a run without it. The fault must end
// by itself.
func FaultTolerance(t testing.TB, setup Setup, inject func(*Scenario)) {
	t.Helper()
	want := convergedState(t, setup)
	s := setup(t)
	inject(s)
	converge(t, s, s.Start())
	s.compareState(t, want)
}

// convergedState returns the state to which the scenario converges without faults.
func convergedState(t testing.TB, setup Setup) string {
	t.Helper()
	s := setup(t)
	converge(t, s, s.Start())
	return s.snapshot(t)
}

// compareState fails the test if the state differs from the state of a run without faults.
func (s *Scenario) compareState(t testing.TB, baseline string) {
	t.Helper()
	if diff := cmp.Diff(baseline, s.snapshot(t)); diff != "" {
		t.Errorf("the state differs from that of a run without faults (-without +with):\n%s", diff)
	}
}

// NoLeaks runs the scenario and its deletion once without a crash. Then it repeats this for every write of that run and
// crashes the controller after this write, be it before or during the deletion. Each time no object may remain that did
// not exist before.
func NoLeaks(t *testing.T, setup Setup) {
	t.Helper()
	baseline := setup(t)
	empty := baseline.cloudState(t)
	converge(t, baseline, baseline.Start())
	created := len(baseline.calls().Log(0))
	baseline.deleteAll(t, empty, baseline.Start())
	writes := baseline.calls().Log(0)
	for n := 1; n <= len(writes); n++ {
		if isSkipped(n) {
			continue
		}
		t.Run(fmt.Sprintf("crashes after write %02d %s", n, slug(writes[n-1])), func(t *testing.T) {
			leakAt(t, setup, n, created, empty)
		})
	}
}

// leakAt crashes the controller after its n-th write. The writes up to number created come before the deletion.
func leakAt(t testing.TB, setup Setup, n, created int, empty string) {
	t.Helper()
	s := setup(t)
	if n <= created {
		s.crashDuring(t, n)
	} else {
		converge(t, s, s.Start())
		s.delete(t)
		s.crashDuring(t, n-created)
	}
	s.deleteAll(t, empty, s.Start())
}

// NoLeaksWith deletes the object of the scenario during the fault that inject starts.
func NoLeaksWith(t testing.TB, setup Setup, inject func(*Scenario)) {
	t.Helper()
	s := setup(t)
	empty := s.cloudState(t)
	pass := s.Start()
	converge(t, s, pass)
	inject(s)
	s.deleteAll(t, empty, pass)
}

func (s *Scenario) calls() *CallCounter { return s.Cluster.Calls }

// cloudState returns the state of AWS before anything was created.
func (s *Scenario) cloudState(t testing.TB) string {
	t.Helper()
	if s.Cloud == nil {
		return ""
	}
	return s.Cloud()
}

// deleteAll deletes the object. It fails the test unless the cluster becomes empty and AWS returns to its previous state.
func (s *Scenario) deleteAll(t testing.TB, empty string, pass func(context.Context) error) {
	t.Helper()
	s.delete(t)
	// Idle passes alone do not prove the end of the deletion: a controller is idle, too, while AWS deletes.
	s.runUntilIdle(t, pass, func(context.Context) string { return s.clusterState(t) })
	if s.Cloud != nil {
		if diff := cmp.Diff(empty, s.Cloud()); diff != "" {
			t.Errorf("left behind in AWS (-before +after):\n%s", diff)
		}
	}
}

// delete deletes the object as a user does. The object may be gone already.
func (s *Scenario) delete(t testing.TB) {
	t.Helper()
	if err := s.Delete(t.Context()); client.IgnoreNotFound(err) != nil {
		t.Fatalf("deleting: %v", err)
	}
}

// converge runs passes until Ready returns "" and the controller is idle.
func converge(t testing.TB, s *Scenario, pass func(context.Context) error) {
	t.Helper()
	s.runUntilIdle(t, pass, s.Ready)
}

// runUntilIdle runs passes until describeMissing returns "" and several consecutive passes neither write nor fail.
func (s *Scenario) runUntilIdle(t testing.TB, pass func(context.Context) error, describeMissing func(context.Context) string) {
	t.Helper()
	idle, missing, limit := 0, "", maxPasses
	if s.MaxPasses > 0 {
		limit = s.MaxPasses
	}
	var err error
	for range limit {
		before := s.calls().Writes()
		err = pass(t.Context())
		mustNotPanic(t, err)
		s.runOtherControllers(t)
		missing = ""
		if describeMissing != nil {
			missing = describeMissing(t.Context())
		}
		if err == nil && missing == "" && s.calls().Writes() == before {
			idle++
		} else {
			idle = 0
		}
		if idle == idlePasses {
			return
		}
	}
	t.Fatalf("not converged after %d passes: missing or left behind:\n%s\nlast error %v, last writes:\n%s",
		limit, missing, err, strings.Join(last(s.calls().Log(0), 12), "\n"))
}

// mustNotPanic ends the test if a step has panicked: the next pass may succeed, and hide it.
func mustNotPanic(t testing.TB, err error) {
	t.Helper()
	var panicked *reconcile.PanicError
	if errors.As(err, &panicked) {
		t.Fatalf("a step has panicked: %v", panicked.Value)
	}
}

func (s *Scenario) runOtherControllers(t testing.TB) {
	t.Helper()
	if s.OtherControllers != nil {
		if err := s.OtherControllers(t.Context()); err != nil {
			t.Fatalf("running the other controllers: %v", err)
		}
	}
	if err := s.Cluster.CollectGarbage(t.Context()); err != nil {
		t.Fatalf("collecting garbage: %v", err)
	}
	s.Advance(tick)
}

// crashDuring runs passes until the controller crashes at the n-th write from now.
func (s *Scenario) crashDuring(t testing.TB, n int) {
	t.Helper()
	s.calls().crashAfter(n)
	pass := s.Start()
	for range maxPasses {
		mustNotPanic(t, pass(t.Context()))
		if s.calls().isCrashed() {
			break
		}
		s.runOtherControllers(t)
	}
	if !s.calls().isCrashed() {
		t.Logf("write %d did not happen: the order of events differed", n)
	}
	s.calls().restart()
}

func (s *Scenario) snapshot(t testing.TB) string {
	t.Helper()
	text := s.clusterState(t)
	if s.Cloud != nil {
		text += "=== AWS\n" + s.Cloud()
	}
	if s.Mask != nil {
		text = s.Mask(text)
	}
	return text
}

func (s *Scenario) clusterState(t testing.TB) string {
	t.Helper()
	text, err := s.Cluster.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("reading the cluster: %v", err)
	}
	return text
}

func slug(write string) string { return strings.ReplaceAll(write, "/", ":") }

func last(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

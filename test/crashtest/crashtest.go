package crashtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Story is a fresh world with one controller in it.
type Scenario struct {
	Cluster *Cluster
	// Cloud is the state of AWS as text that two equal runs share; nil for a
	// controller that does not call AWS.
	Cloud func() string
	// Start makes the controller anew, as a process that begins with empty
	// hands, and returns one pass of it over every object that it watches.
	Start func() (pass func(context.Context) error)
	// Others does what everybody else does between two passes: other
	// controllers, kubelets, AWS. May be nil.
	Others func(context.Context) error
	// Advance moves the clock of the world.
	Advance func(time.Duration)
	// Ready says what is still missing from the settled world, or "". A trial
	// that settles anywhere would prove nothing.
	Ready func(context.Context) string
	// Delete is the user who deletes what the story is about.
	Delete func(context.Context) error
	// Mask replaces what differs between runs in a snapshot, such as random
	// names. May be nil.
	Mask func(string) string
}

// Setup makes a story; every call makes a new world.
type Setup func(t testing.TB) *Scenario

const (
	// patience is how many passes a story may take to settle.
	patience = 60
	// tick is how far the clock moves between two passes.
	tick = 20 * time.Second
	// silence is how many passes in a row must write nothing once settled.
	silence = 3
)

// CrashConsistency runs the story once in calm, then again for every write that it made,
// dying after that write, and wants to find the same world every time.
func CrashConsistency(t *testing.T, begin Setup) {
	t.Helper()
	calm := begin(t)
	settle(t, calm, calm.Start())
	want, writes := calm.snapshot(t), calm.calls().Log(0)
	for n := range writes {
		t.Run(fmt.Sprintf("dies after write %02d %s", n+1, slug(writes[n])), func(t *testing.T) {
			crashAt(t, begin, n+1, want)
		})
	}
}

func crashAt(t testing.TB, begin Setup, n int, want string) {
	t.Helper()
	s := begin(t)
	s.dieDuring(t, n)
	settle(t, s, s.Start())
	s.sameAs(t, want)
}

// Fault runs the story while inject spoils it, and wants to find the same
// world as in calm. A fault must end by itself.
func Fault(t testing.TB, begin Setup, inject func(*Scenario)) {
	t.Helper()
	want := finalState(t, begin)
	s := begin(t)
	inject(s)
	settle(t, s, s.Start())
	s.sameAs(t, want)
}

// finalState is the world in which the story settles when nothing goes wrong.
func finalState(t testing.TB, begin Setup) string {
	t.Helper()
	s := begin(t)
	settle(t, s, s.Start())
	return s.snapshot(t)
}

// sameAs wants to find a calm world.
func (s *Scenario) sameAs(t testing.TB, calm string) {
	t.Helper()
	if diff := cmp.Diff(calm, s.snapshot(t)); diff != "" {
		t.Errorf("another world than when nothing goes wrong (-calm +this one):\n%s", diff)
	}
}

// NoLeaks deletes the story's object from the settled world and from every
// stage on the way there, and after every write of the deletion kills the
// controller once: each time nothing may be left that was not there before.
func NoLeaks(t *testing.T, begin Setup) {
	t.Helper()
	calm := begin(t)
	empty := calm.untouched(t)
	settle(t, calm, calm.Start())
	created := len(calm.calls().Log(0))
	calm.deleteAll(t, empty, calm.Start())
	writes := calm.calls().Log(0)
	for n := 1; n <= len(writes); n++ {
		t.Run(fmt.Sprintf("dies after write %02d %s", n, slug(writes[n-1])), func(t *testing.T) {
			leakAt(t, begin, n, created, empty)
		})
	}
}

// leakAt kills the controller after its n-th write, of which the first ones,
// up to created, come before the deletion.
func leakAt(t testing.TB, begin Setup, n, created int, empty string) {
	t.Helper()
	s := begin(t)
	if n <= created {
		s.dieDuring(t, n)
	} else {
		settle(t, s, s.Start())
		s.delete(t)
		s.dieDuring(t, n-created)
	}
	s.deleteAll(t, empty, s.Start())
}

// NoLeaksWith deletes the story's object while inject spoils the deletion.
func NoLeaksWith(t testing.TB, begin Setup, inject func(*Scenario)) {
	t.Helper()
	s := begin(t)
	empty := s.untouched(t)
	pass := s.Start()
	settle(t, s, pass)
	inject(s)
	s.deleteAll(t, empty, pass)
}

func (s *Scenario) calls() *CallCounter { return s.Cluster.Calls }

// untouched is the world without what the user is about to delete.
func (s *Scenario) untouched(t testing.TB) string {
	t.Helper()
	if s.Cloud == nil {
		return ""
	}
	return s.Cloud()
}

// deleteAll deletes and wants an empty cluster and the cloud that was before.
func (s *Scenario) deleteAll(t testing.TB, empty string, pass func(context.Context) error) {
	t.Helper()
	s.delete(t)
	// Silence is not the end: a controller is silent, too, while AWS deletes.
	s.quiet(t, pass, func(context.Context) string { return s.cluster(t) })
	if s.Cloud != nil {
		if diff := cmp.Diff(empty, s.Cloud()); diff != "" {
			t.Errorf("left behind in AWS (-before +after):\n%s", diff)
		}
	}
}

// delete is the user's kubectl delete, which may come twice.
func (s *Scenario) delete(t testing.TB) {
	t.Helper()
	if err := s.Delete(t.Context()); client.IgnoreNotFound(err) != nil {
		t.Fatalf("deleting: %v", err)
	}
}

// settle runs passes until the world is ready and stays silent.
func settle(t testing.TB, s *Scenario, pass func(context.Context) error) {
	t.Helper()
	s.quiet(t, pass, s.Ready)
}

// quiet runs passes until ready has nothing to say and several passes in a row
// write nothing and fail in nothing.
func (s *Scenario) quiet(t testing.TB, pass func(context.Context) error, ready func(context.Context) string) {
	t.Helper()
	still, missing := 0, ""
	var err error
	for range patience {
		before := s.calls().Writes()
		err = pass(t.Context())
		s.others(t)
		missing = ""
		if ready != nil {
			missing = ready(t.Context())
		}
		if err == nil && missing == "" && s.calls().Writes() == before {
			still++
		} else {
			still = 0
		}
		if still == silence {
			return
		}
	}
	t.Fatalf("not settled after %d passes: missing or left behind:\n%s\nlast error %v, last writes:\n%s",
		patience, missing, err, strings.Join(last(s.calls().Log(0), 12), "\n"))
}

func (s *Scenario) others(t testing.TB) {
	t.Helper()
	if s.Others != nil {
		if err := s.Others(t.Context()); err != nil {
			t.Fatalf("others: %v", err)
		}
	}
	if err := s.Cluster.CollectGarbage(t.Context()); err != nil {
		t.Fatalf("tidying the cluster: %v", err)
	}
	s.Advance(tick)
}

// dieDuring runs passes until the n-th write from now has killed the controller.
func (s *Scenario) dieDuring(t testing.TB, n int) {
	t.Helper()
	s.calls().dieAfter(n)
	pass := s.Start()
	for range patience {
		_ = pass(t.Context())
		if s.calls().isDead() {
			break
		}
		s.others(t)
	}
	if !s.calls().isDead() {
		t.Logf("write %d never came: another order of events", n)
	}
	s.calls().reborn()
}

func (s *Scenario) snapshot(t testing.TB) string {
	t.Helper()
	text := s.cluster(t)
	if s.Cloud != nil {
		text += "=== AWS\n" + s.Cloud()
	}
	if s.Mask != nil {
		text = s.Mask(text)
	}
	return text
}

func (s *Scenario) cluster(t testing.TB) string {
	t.Helper()
	text, err := s.Cluster.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("reading the cluster: %v", err)
	}
	return text
}

func slug(write string) string { return strings.ReplaceAll(write, "/", ":") }

func last(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

package crashtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
)

// APIFaults runs the story and its deletion on an API server that misbehaves,
// once in each way that is known. Every read is spoiled the first times, and of
// equal writes every other one, as long as there are any: an API server that is
// only away for a while would never show what a controller does when half of
// its pass is done, or when the very last write is the one that fails.
//
// A pass that met a fault has to say that it comes back soon, to Cluster.Queue:
// the trial runs passes anyway, a real queue does not.
func APIFaults(t *testing.T, begin Setup) {
	t.Helper()
	want := finalState(t, begin)
	for name, f := range apiFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if faultAPI(t, begin, want, f) == 0 {
				t.Error("the API server never misbehaved")
			}
		})
	}
}

// apiFaults are the ways in which an API server misbehaves.
var apiFaults = func() map[string]apiFault {
	object := schema.GroupResource{Resource: "objects"}
	timeout := apierrors.NewServerTimeout(object, "patch", 1)
	inside := apierrors.NewInternalError(errors.New("etcd"))
	return map[string]apiFault{
		"others write first, again and again":    {err: apierrors.NewConflict(object, "it", errors.New("the object has been modified")), writes: true},
		"the API server is slow":                 {err: timeout, reads: true, writes: true},
		"the API server asks to come later":      {err: apierrors.NewTooManyRequestsError("busy"), reads: true, writes: true},
		"the API server fails inside":            {err: inside, writes: true},
		"the cache cannot be read":               {err: inside, reads: true},
		"a write takes effect, and nobody says":  {err: timeout, writes: true, late: true},
		"a Role lets us write only after a time": {err: apierrors.NewForbidden(object, "it", errors.New("no")), writes: true},
	}
}()

// often is how many times the same read is spoiled. Unlike writes, reads do not
// end once all is well.
const often = 2

// An apiFault is what the API server answers instead.
type apiFault struct {
	err           error
	reads, writes bool
	// late faults come when the write has taken effect.
	late bool
}

// faultAPI runs the story under f, wants to find the world of a calm one, runs its
// deletion under f too, and returns how many calls were spoiled while it settled.
func faultAPI(t testing.TB, begin Setup, want string, f apiFault) (struck int) {
	t.Helper()
	s := begin(t)
	s.wantReturn(t)
	empty, pass, w := s.untouched(t), s.Start(), s.Cluster.faults
	w.set(f)
	settle(t, s, pass)
	struck = w.injected()
	s.sameAs(t, want)
	w.set(f)
	s.deleteAll(t, empty, pass)
	return struck
}

// wantReturn fails the test if a pass met a fault and does not come back, unless
// it was a write that it made again at once.
func (s *Scenario) wantReturn(t testing.TB) {
	start, w := s.Start, s.Cluster.faults
	s.Start = func() func(context.Context) error {
		pass := start()
		return func(ctx context.Context) error {
			w.begin()
			err := pass(ctx)
			if w.forgotten() {
				t.Errorf("a pass forgets its fault and does not come back soon; last writes:\n%v", last(s.calls().Log(0), 5))
			}
			return err
		}
	}
}

// soon is when a controller has to be back after a fault. Many come back by
// themselves every half hour, which would hide one that forgot.
const soon = time.Minute

// Queue hears what a pass answered, as a work queue does, and gives its error
// back. A story on trial for APIFaults brings every answer here.
func (c *Cluster) Queue(answer ctrl.Result, err error) error {
	if err != nil || answer.RequeueAfter > 0 && answer.RequeueAfter <= soon {
		c.faults.promise()
	}
	return err
}

// faults is how the API server behaves to the controller on trial.
type faults struct {
	mu      sync.Mutex
	fault   apiFault
	calls   map[string]int // that the fault is about, by what they do
	spoiled int            // of them
	// owed are the calls that were spoiled in this pass and not made again, and
	// returns says that it comes back.
	owed    map[string]bool
	returns bool
}

// set begins a new fault.
func (w *faults) set(f apiFault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.calls, w.spoiled, w.owed = f, map[string]int{}, 0, map[string]bool{}
}

func (w *faults) read(what string, do func() error) error {
	if f := w.inject(what, false); f != nil {
		return f.err
	}
	return do()
}

func (w *faults) write(what string, do func() error) error {
	f := w.inject(what, true)
	switch {
	case f == nil:
		return do()
	case f.late:
		return errors.Join(do(), f.err)
	}
	return f.err
}

// inject returns what spoils this call, or nil.
func (w *faults) inject(what string, write bool) *apiFault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if write && !w.fault.writes || !write && !w.fault.reads {
		return nil
	}
	n := w.calls[what]
	w.calls[what]++
	if write && n%2 == 1 {
		delete(w.owed, what)
		return nil
	}
	if !write && n >= often {
		return nil
	}
	w.spoiled++
	w.owed[what] = true
	return &w.fault
}

// injected is how many calls were spoiled so far.
func (w *faults) injected() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.spoiled
}

// begin begins a pass, which owes nothing and has promised nothing.
func (w *faults) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returns = false
	clear(w.owed)
}

func (w *faults) promise() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returns = true
}

// forgotten says whether the pass owes something and does not come back.
func (w *faults) forgotten() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.owed) > 0 && !w.returns
}

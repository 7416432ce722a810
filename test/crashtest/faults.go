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

// APIFaults runs the scenario and its deletion once for each way in which the API server can fail. The first reads of each
// kind fail, and every other one of equal writes as long as there are any. A plain outage would not cover a pass of which
// half succeeded, nor a failure of the very last write.
//
// After a fault, a pass must requeue soon or return an error, and the scenario reports its result to Cluster.RecordResult.
// The test runs passes anyway; a real work queue does not.
func APIFaults(t *testing.T, setup Setup) {
	t.Helper()
	want := convergedState(t, setup)
	for name, f := range apiFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if faultAPI(t, setup, want, f) == 0 {
				t.Error("no call failed")
			}
		})
	}
}

// apiFaults are the ways in which the API server fails.
var apiFaults = func() map[string]apiFault {
	object := schema.GroupResource{Resource: "objects"}
	timeout := apierrors.NewServerTimeout(object, "patch", 1)
	inside := apierrors.NewInternalError(errors.New("etcd"))
	return map[string]apiFault{
		"another writer updates the object first":       {err: apierrors.NewConflict(object, "it", errors.New("the object has been modified")), writes: true},
		"requests time out":                             {err: timeout, reads: true, writes: true},
		"the API server throttles":                      {err: apierrors.NewTooManyRequestsError("busy"), reads: true, writes: true},
		"writes fail with an internal error":            {err: inside, writes: true},
		"reads fail with an internal error":             {err: inside, reads: true},
		"a write takes effect but its response is lost": {err: timeout, writes: true, late: true},
		"RBAC permits writes only after a delay":        {err: apierrors.NewForbidden(object, "it", errors.New("no")), writes: true},
	}
}()

// maxReadFaults is how often the same read fails. Unlike writes, reads do not end once the controller has converged.
const maxReadFaults = 2

// An apiFault is a failure of the API server.
type apiFault struct {
	err           error
	reads, writes bool
	// late faults occur after the write has taken effect.
	late bool
}

// faultAPI runs the scenario and its deletion under f and compares the state in between with want. It returns how many
// calls failed before the deletion.
func faultAPI(t testing.TB, setup Setup, want string, f apiFault) (injected int) {
	t.Helper()
	s := setup(t)
	s.requireRequeue(t)
	empty, pass, fs := s.cloudState(t), s.Start(), s.Cluster.faults
	fs.set(f)
	converge(t, s, pass)
	injected = fs.injected()
	s.compareState(t, want)
	fs.set(f)
	s.deleteAll(t, empty, pass)
	return injected
}

// requireRequeue fails the test if a pass had a failed call and neither requeues nor retried the write successfully.
func (s *Scenario) requireRequeue(t testing.TB) {
	start, fs := s.Start, s.Cluster.faults
	s.Start = func() func(context.Context) error {
		pass := start()
		return func(ctx context.Context) error {
			fs.beginPass()
			err := pass(ctx)
			if fs.isFaultDropped() {
				t.Errorf("a pass neither retries a failed call nor requeues soon; last writes:\n%v", last(s.calls().Log(0), 5))
			}
			return err
		}
	}
}

// requeueLimit is the time within which a controller must requeue after a fault. It excludes the periodic resync, which
// would hide a dropped error.
const requeueLimit = time.Minute

// RecordResult records the result of a pass, as a work queue does, and returns its error. The passes of a scenario for
// APIFaults must report every result here.
func (c *Cluster) RecordResult(result ctrl.Result, err error) error {
	if err != nil || result.RequeueAfter > 0 && result.RequeueAfter <= requeueLimit {
		c.faults.recordRequeue()
	}
	return err
}

// faults simulates the failures of the API server for the controller under test.
type faults struct {
	mu     sync.Mutex
	fault  apiFault
	calls  map[string]int // number of calls to which the fault applies, by description
	failed int            // number of calls that failed
	// unretried are the calls that failed in this pass and were not repeated. requeued is true if the pass requeues.
	unretried map[string]bool
	requeued  bool
}

// set starts a new fault.
func (fs *faults) set(f apiFault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.fault, fs.calls, fs.failed, fs.unretried = f, map[string]int{}, 0, map[string]bool{}
}

func (fs *faults) read(what string, do func() error) error {
	if f := fs.inject(what, false); f != nil {
		return f.err
	}
	return do()
}

func (fs *faults) write(what string, do func() error) error {
	f := fs.inject(what, true)
	switch {
	case f == nil:
		return do()
	case f.late:
		return errors.Join(do(), f.err)
	}
	return f.err
}

// inject returns the fault of this call, or nil.
func (fs *faults) inject(what string, write bool) *apiFault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if write && !fs.fault.writes || !write && !fs.fault.reads {
		return nil
	}
	n := fs.calls[what]
	fs.calls[what]++
	if write && n%2 == 1 {
		delete(fs.unretried, what)
		return nil
	}
	if !write && n >= maxReadFaults {
		return nil
	}
	fs.failed++
	fs.unretried[what] = true
	return &fs.fault
}

// injected returns the number of calls that failed so far.
func (fs *faults) injected() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.failed
}

// beginPass resets the state of a pass.
func (fs *faults) beginPass() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.requeued = false
	clear(fs.unretried)
}

func (fs *faults) recordRequeue() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.requeued = true
}

// isFaultDropped is true if a failed call was not repeated and the pass does not requeue.
func (fs *faults) isFaultDropped() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.unretried) > 0 && !fs.requeued
}

// Package consistency delays a deletion while the lists of AWS may lack what was
// created just before it.
//
// A resource is recorded as "being created" before the call that creates it. The
// process can die, or the answer can be lost, before the id is recorded. A list
// that does not show such a resource proves that it does not exist only after the
// window of eventual consistency has passed.
package consistency

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// A Window measures the consistency window of each object that is being deleted.
// It starts when the deletion first finds nothing, because the last creation may
// have been under way until then. A restart of the process starts it again.
type Window struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since map[types.UID]time.Time
}

// NewWindow returns a Window without objects.
func NewWindow(clk clock.PassiveClock) *Window {
	return &Window{clock: clk, since: map[types.UID]time.Time{}}
}

// Remaining returns how long lists cannot be trusted yet. The first call for an
// object starts its window.
func (w *Window) Remaining(uid types.UID) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	if _, started := w.since[uid]; !started {
		w.since[uid] = now
	}
	return max(awsx.ConsistencyWindow-now.Sub(w.since[uid]), 0)
}

// Pass ends the window of an object: what was created for it has been found.
func (w *Window) Pass(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since[uid] = time.Time{}
}

// Forget drops an object when its deletion is complete.
func (w *Window) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, uid)
}

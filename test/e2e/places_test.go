//go:build e2e

package e2e

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"time"
)

// places is how many scenarios run at the same time. They wait most of the time, but control planes and machines that start
// keep the two cores of a small machine busy. With five places, machines did not join within five minutes.
const places = 3

// A turn is a scenario that waits for a place.
type turn struct {
	minutes int
	begin   chan struct{}
}

var queue = struct {
	sync.Mutex
	free    int
	waiting []turn
}{free: places}

// shareLab lets a scenario run while others do. It begins before those that take fewer minutes, so that no long one is the
// last. go test would start them in no particular order.
func shareLab(t *testing.T, minutes int) {
	t.Helper()
	mine := turn{minutes: minutes, begin: make(chan struct{})}
	queue.Lock()
	queue.waiting = append(queue.waiting, mine)
	queue.Unlock()
	t.Parallel() // returns when every scenario waits for a place
	givePlaces(0)
	<-mine.begin
	began := time.Now()
	t.Cleanup(func() {
		t.Logf("%s took %.0f s, without the wait for a place", t.Name(), time.Since(began).Seconds())
		givePlaces(1)
	})
}

// givePlaces lets scenarios begin that wait for a place, after so many have become free.
func givePlaces(more int) {
	queue.Lock()
	defer queue.Unlock()
	queue.free += more
	slices.SortStableFunc(queue.waiting, func(a, b turn) int { return cmp.Compare(b.minutes, a.minutes) })
	for queue.free > 0 && len(queue.waiting) > 0 {
		close(queue.waiting[0].begin)
		queue.waiting = queue.waiting[1:]
		queue.free--
	}
}

//go:build e2e

package e2e

import (
	"cmp"
	"flag"
	"os"
	"slices"
	"strconv"
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
	takes(t, minutes)
}

// untilVariable is the environment variable with the time at which all scenarios have to have ended, in seconds since 1970.
const untilVariable = "HYPERSHIFT_E2E_UNTIL"

// again is how much longer a scenario may take that has failed and runs again, alone.
const again = 10 * time.Minute

// takes skips a scenario that would not end in time. One that runs again because it has failed does not pass by being skipped: it
// fails. minutes is how long it takes on a machine with two cores beside others; alone, most take about half as long.
func takes(t *testing.T, minutes int) {
	t.Helper()
	text := os.Getenv(untilVariable)
	if text == "" {
		return
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is not a time in seconds since 1970: %v", untilVariable, err)
	}
	left, refuse := time.Until(time.Unix(seconds, 0)), t.Skipf
	if flag.Lookup("test.run").Value.String() == "^"+t.Name()+"$" {
		left, minutes, refuse = left+again, (minutes+1)/2, t.Fatalf
	}
	if left < time.Duration(minutes)*time.Minute {
		refuse("it takes %d minutes, and %.0f are left", minutes, left.Minutes())
	}
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

package main

import (
	"container/heap"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// virtual runs f in virtual time and ends the process. In virtual time, a second passes when all goroutines wait. The
// clocks of the project's code and of the SDK, which renews credentials, are virtual, so that an hour takes as long as its
// events. The standard library offers this only to tests.
func virtual(f func(context.Context) error) {
	whole := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if err := f(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "virtual", F: whole}}, nil, nil)
}

// A pass is one reconcile of one object.
type pass func(context.Context) (ctrl.Result, error)

// queue replaces the workqueues of all controllers. It has one worker, which suffices because reconciles take no virtual
// time.
type queue struct {
	heap dueHeap
	// written returns the number of writes so far. After a pass with writes, all passes run, as if triggered by a watch.
	// It may be nil if no controller depends on another.
	written func() int
}

type due struct {
	at    time.Time
	pass  pass
	fails int
	err   error // of the last run
}

type dueHeap []*due

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(*due)) }
func (h *dueHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (q *queue) add(p pass) { heap.Push(&q.heap, &due{at: time.Now(), pass: p}) }

// run runs passes for that time.
func (q *queue) run(ctx context.Context, span time.Duration) error {
	end := time.Now().Add(span)
	for q.heap[0].at.Before(end) {
		next := heap.Pop(&q.heap).(*due)
		time.Sleep(time.Until(next.at))
		wake := q.watch()
		next.again(next.pass(ctx))
		heap.Push(&q.heap, next)
		wake()
	}
	time.Sleep(time.Until(end))
	return q.failing()
}

// watch returns a function that triggers all passes if something was written since.
func (q *queue) watch() (wake func()) {
	if q.written == nil {
		return func() {}
	}
	before := q.written()
	return func() {
		if q.written() != before {
			q.wake()
		}
	}
}

// again schedules the next pass according to the result.
func (d *due) again(result ctrl.Result, err error) {
	d.fails++
	d.err = err
	switch {
	case err != nil:
		d.at = time.Now().Add(min(time.Second<<min(d.fails-1, 9), 5*time.Minute))
		return
	case result.RequeueAfter > 0:
		d.at = time.Now().Add(result.RequeueAfter)
	default:
		d.at = time.Now().Add(farAway)
	}
	d.fails = 0
}

// farAway is the time of a pass that waits only for a trigger.
const farAway = 1000 * time.Hour

func (q *queue) wake() {
	now := time.Now()
	for _, d := range q.heap {
		if d.at.After(now) {
			d.at = now
		}
	}
	heap.Init(&q.heap)
}

// failing returns the error of passes with a failed last run, which makes the figures useless.
func (q *queue) failing() error {
	for _, d := range q.heap {
		if d.fails > 0 {
			return fmt.Errorf("a pass goes on failing: %w", d.err)
		}
	}
	return nil
}

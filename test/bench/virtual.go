package main

import (
	"container/heap"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// virtual runs f in virtual time and ends the process: in there a second passes
// when everybody waits for it. The clocks of our code and those inside the SDK,
// by which it renews credentials, are the same, so an hour costs what happens in
// it. The standard library offers this to tests only.
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

// queue stands for the workqueues of all controllers: it knows who is due when.
// It is one worker, and enough in a world where a pass takes no time.
type queue struct {
	heap dueHeap
	// written says how much has been written so far. When a pass has written
	// something everybody is woken, as by a watch; nil if nobody waits for others.
	written func() int
}

type due struct {
	at    time.Time
	pass  pass
	fails int
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

// run makes passes for that span.
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

// watch returns what wakes everybody if something was written since.
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

// again is what a controller does with the result of a pass.
func (d *due) again(result ctrl.Result, err error) {
	d.fails++
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

// farAway is for who only wants to be woken.
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

// failing says whether somebody's last pass failed: a figure of that is no figure.
func (q *queue) failing() error {
	for _, d := range q.heap {
		if d.fails > 0 {
			return errors.New("a pass goes on failing")
		}
	}
	return nil
}

package cache

import (
	"context"
	"strconv"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

func TestAListWithoutLoadsDoesNotGrowWithItsWrites(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	l := NewList(ListOptions[string]{Clock: clk, Key: func(id string) string { return id }, Load: func(context.Context) ([]string, error) { return nil, nil }})
	if _, err := l.All(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := 3*maxDeleted - 1
	for i := range last + 1 {
		if i%100 == 0 {
			clk.Step(awsx.ConsistencyWindow / 2)
		}
		id := strconv.Itoa(i)
		l.Put(id)
		if i%2 == 0 {
			l.MarkDeleted(id)
		}
		l.Remove(id)
	}
	if got := l.deleted.Len(); got != maxDeleted || len(l.overlay) > maxDeleted || len(l.items) != 0 {
		t.Errorf("%d deleted, %d written and %d listed items, want %d, at most %d, and 0", got, len(l.overlay), len(l.items), maxDeleted, maxDeleted)
	}
	if l.IsUnaccounted(strconv.Itoa(last)) {
		t.Error("the last deletion is forgotten")
	}
}

// Items that were written a moment ago stay, however many: AWS may not list them yet.
func TestManyRecentWritesOutliveALaggingList(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	l := NewList(ListOptions[string]{Clock: clk, Key: func(id string) string { return id }, Load: func(context.Context) ([]string, error) { return nil, nil }})
	const written = maxDeleted + 10
	for i := range written {
		l.Put(strconv.Itoa(i))
	}
	clk.Step(awsx.ConsistencyWindow / 2)
	l.Put("last")
	l.Invalidate(0)
	all, err := l.All(t.Context())
	if err != nil || len(all) != written+1 {
		t.Errorf("%d items, %v; want %d", len(all), err, written+1)
	}
}

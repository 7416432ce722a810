package apply

import (
	"strconv"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

func object(n int) objectID { return objectID{Namespace: "ns", Name: strconv.Itoa(n)} }

func (c *comparisons) len() int { return len(c.recent) + len(c.earlier) }

func TestOneComparisonIsRememberedPerObject(t *testing.T) {
	c := newComparisons(10, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	for version := range 100 {
		c.add(object(1), comparison{1, byte(version)})
	}
	if c.len() != 1 || !c.has(object(1), comparison{1, 99}) || c.has(object(1), comparison{1, 98}) || c.has(object(2), comparison{1, 99}) {
		t.Errorf("%d comparisons are remembered, want the last one of the object only", c.len())
	}
	for n := range 100 {
		c.add(object(n), comparison{2, byte(n)})
		if !c.has(object(n), comparison{2, byte(n)}) {
			t.Errorf("the comparison of object %d is forgotten at once", n)
		}
	}
	if c.len() > 20 {
		t.Errorf("%d comparisons are remembered, want at most those of two periods of 10", c.len())
	}
}

// TestComparisonsOfDeletedObjectsAreForgotten uses one object all the time while others come and go.
func TestComparisonsOfDeletedObjectsAreForgotten(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	c := newComparisons(1000, clock)
	c.add(object(0), comparison{1})
	for n := 1; n <= 100; n++ {
		c.add(object(n), comparison{2})
	}
	for range 3 {
		clock.SetTime(clock.Now().Add(comparisonPeriod))
		if !c.has(object(0), comparison{1}) {
			t.Fatal("the comparison of an object in use is forgotten")
		}
	}
	if c.len() != 1 {
		t.Errorf("%d comparisons are remembered after nobody asked for two periods, want that of the object in use only", c.len())
	}
}

package apply

import (
	"strconv"
	"testing"
)

func TestOneComparisonIsRememberedPerObject(t *testing.T) {
	c := newComparisons(10)
	id := func(n int) objectID { return objectID{Namespace: "ns", Name: strconv.Itoa(n)} }
	for version := range 100 {
		c.add(id(1), comparison{1, byte(version)})
	}
	if len(c.last) != 1 || !c.has(id(1), comparison{1, 99}) || c.has(id(1), comparison{1, 98}) || c.has(id(2), comparison{1, 99}) {
		t.Errorf("%d comparisons are remembered, want the last one of the object only", len(c.last))
	}
	for n := range 100 {
		c.add(id(n), comparison{2, byte(n)})
		if !c.has(id(n), comparison{2, byte(n)}) {
			t.Errorf("the comparison of object %d is forgotten at once", n)
		}
	}
	if len(c.last) != 10 {
		t.Errorf("%d comparisons are remembered, want at most 10", len(c.last))
	}
}

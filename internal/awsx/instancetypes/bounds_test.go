package instancetypes

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// Users write names of types and regions in NodePools.
func TestNamesThatUsersWriteDoNotFillTheCache(t *testing.T) {
	cache := New(func(string) API { return &region{types: known} }, clocktesting.NewFakePassiveClock(time.Now()))
	for i := range maxTypes + maxRegions {
		if _, err := cache.Describe(t.Context(), fmt.Sprintf("region-%d", i%(2*maxRegions)), fmt.Sprintf("m%d.large", i)); err != nil {
			t.Fatal(err)
		}
	}
	if types, regions := cache.known.Len(), cache.regions.Len(); types != maxTypes || regions != maxRegions {
		t.Errorf("it has %d types in %d regions, want %d and %d", types, regions, maxTypes, maxRegions)
	}
}

package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The calls of the hypershift-operator are in another account.
func TestCallsOfAFleetAreThoseInTheAccountOfTheCustomer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, err := observeFleet(t.Context(), 1, settling, 2*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		three, err := observeFleet(t.Context(), 3, settling, 2*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if one.total() == 0 || three.total() < 2*one.total() || three.total() > 4*one.total() || three.Writes > 0 {
			t.Errorf("one cluster makes the calls %v, three make %v and %d writes", one.Calls, three.Calls, three.Writes)
		}
		for action := range three.Calls {
			if strings.HasPrefix(action, "elasticloadbalancing:") {
				t.Errorf("%s is a call of the hypershift-operator", action)
			}
		}
	})
}

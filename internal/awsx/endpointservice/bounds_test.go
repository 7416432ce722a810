package endpointservice

import (
	"slices"
	"strconv"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestPrincipalsOfDeletedServicesDoNotStay(t *testing.T) {
	s := New(nil, clocktesting.NewFakePassiveClock(time.Now()), Options{})
	for i := range maxPrincipals + 10 {
		s.putPrincipals(strconv.Itoa(i), []string{"arn:aws:iam::123456789012:role/one"})
	}
	if got := s.principals.Len(); got != maxPrincipals {
		t.Errorf("it has the permissions of %d services, want %d", got, maxPrincipals)
	}
}

// A principal that AWS refuses is left out for a while where it is optional, and until AWS accepts it.
func TestRefusedPrincipalsAreLeftOutForAWhile(t *testing.T) {
	const bad, good = "arn:aws:iam::123456789012:role/later", "arn:aws:iam::123456789012:role/one"
	clock := clocktesting.NewFakePassiveClock(time.Now())
	s := New(nil, clock, Options{PrincipalsTTL: time.Hour})
	both, optional := []string{bad, good}, Spec{Optional: []string{bad}}
	s.refuse(bad)
	if got := s.withoutRefused(both, optional); !slices.Equal(got, []string{good}) {
		t.Errorf("after a refusal it tries %v", got)
	}
	if got := s.withoutRefused([]string{bad}, optional); got != nil {
		t.Errorf("it makes a call for %v", got)
	}
	if got := s.withoutRefused(both, Spec{}); !slices.Equal(got, both) {
		t.Errorf("the cluster that names it tries %v", got)
	}
	s.accept([]string{bad})
	if got := s.withoutRefused(both, optional); !slices.Equal(got, both) {
		t.Errorf("after it was accepted it tries %v", got)
	}
	s.refuse(bad)
	clock.SetTime(clock.Now().Add(2 * time.Hour))
	if got := s.withoutRefused(both, optional); !slices.Equal(got, both) {
		t.Errorf("later it tries %v", got)
	}
}

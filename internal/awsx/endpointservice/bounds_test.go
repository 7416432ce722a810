package endpointservice

import (
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

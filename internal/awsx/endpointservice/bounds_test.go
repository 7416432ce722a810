package endpointservice

import (
	"strconv"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestPermissionsOfServicesThatAreGoneDoNotStay(t *testing.T) {
	s := New(nil, clocktesting.NewFakePassiveClock(time.Now()), Options{})
	for i := range maxPermissions + 10 {
		s.believe(strconv.Itoa(i), []string{"arn:aws:iam::123456789012:role/one"})
	}
	if got := s.permissions.Len(); got != maxPermissions {
		t.Errorf("it has the permissions of %d services, want %d", got, maxPermissions)
	}
}

package identity

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/utils/clock"
)

// Users write the roles of a cluster, and may write others all the time.
func TestRolesThatUsersWriteDoNotFillTheCache(t *testing.T) {
	s := New(Options{
		Name: "test", Clock: clock.RealClock{},
		Token: func(context.Context, string, string) ([]byte, error) { return []byte("token"), nil },
	})
	target := func(i int) Target {
		return Target{Region: "us-east-1", IssuerURL: "https://issuer.example.com", RoleARN: fmt.Sprintf("arn:aws:iam::123456789012:role/%d", i)}
	}
	for i := range 2 * maxTargets {
		if _, err := s.For(t.Context(), target(i)); err != nil {
			t.Fatal(err)
		}
		s.outcomes.Add(s.accepted(target(i)), Outcome{})
	}
	if sessions, outcomes := s.opened.Len(), s.outcomes.Len(); sessions != maxTargets || outcomes != maxTargets {
		t.Errorf("it has %d sessions and %d outcomes, want %d of each", sessions, outcomes, maxTargets)
	}
	last, _ := s.opened.Get(target(2*maxTargets - 1))
	if again, err := s.For(t.Context(), target(2*maxTargets-1)); err != nil || again != last {
		t.Errorf("the last session is not used again: %v", err)
	}
}

// Users write the VPC of a cluster too.
func TestSharedValuesOfASessionAreBounded(t *testing.T) {
	s, err := New(Options{Name: "test", Clock: clock.RealClock{}}).For(t.Context(), Target{Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxShared {
		Shared(s, i, func() string { return Shared(s, fmt.Sprint("part of ", i), func() string { return "part" }) })
	}
	if got := s.shared.Len(); got != maxShared {
		t.Errorf("it has %d, want %d", got, maxShared)
	}
	if got := Shared(s, 2*maxShared-1, func() string { return "another" }); got != "part" {
		t.Errorf("the last one was opened again: %s", got)
	}
}

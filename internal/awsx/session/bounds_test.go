package session

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
		s.last.Add(identity{target(i).IssuerURL, target(i).RoleARN}, Outcome{})
	}
	if sessions, outcomes := s.byRole.Len(), s.last.Len(); sessions != maxTargets || outcomes != maxTargets {
		t.Errorf("it has %d sessions and %d outcomes, want %d of each", sessions, outcomes, maxTargets)
	}
	last, _ := s.byRole.Get(target(2*maxTargets - 1))
	if again, err := s.For(t.Context(), target(2*maxTargets-1)); err != nil || again != last {
		t.Errorf("the last session is not used again: %v", err)
	}
}

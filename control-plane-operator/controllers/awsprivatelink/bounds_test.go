package awsprivatelink

import (
	"context"
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/session"
)

// Users write the roles and the VPC of a cluster.
func TestAccountsThatUsersWriteDoNotFillTheCache(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Now())
	all := newAccounts(session.New(session.Options{
		Name: "test", Clock: clk, Token: func(context.Context, string, string) ([]byte, error) { return []byte("token"), nil },
	}), clk)
	for i := range 2 * maxAccounts {
		if _, err := all.open(t.Context(), hyperv1.AWSEndpointCleanup{
			Region: "us-east-1", IssuerURL: issuer, RoleARN: fmt.Sprintf("arn:aws:iam::%s:role/%d", customer, i), VPC: fmt.Sprintf("vpc-%d", i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := all.known.Len(); got != maxAccounts {
		t.Errorf("it has %d accounts, want %d", got, maxAccounts)
	}
}

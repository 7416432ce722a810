package identity_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

func TestLocationOf(t *testing.T) {
	for arn, want := range map[string]awsx.Location{
		"arn:aws:elasticloadbalancing:us-east-1:111111111111:loadbalancer/net/a/b":     {Account: "111111111111", Region: "us-east-1"},
		"arn:aws-cn:elasticloadbalancing:cn-north-1:111111111111:loadbalancer/net/a/b": {Account: "111111111111", Region: "cn-north-1"},
		"arn:aws:iam::111111111111:role/no-region":                                     {},
		"vpce-svc-1": {},
	} {
		if got, err := awsx.LocationOf(arn); got != want || (err == nil) != (want != awsx.Location{}) {
			t.Errorf("%s is in %v (%v), want %v", arn, got, err, want)
		}
	}
}

func TestAccountOfTheProcessIsReadOnce(t *testing.T) {
	cloud := fakeaws.New(clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))).FailOn(t)
	caller := identity.NewCaller(awsx.STS(cloud.Account("111111111111").Config("us-east-1", "hypershift-operator")), "us-east-1")
	cloud.Fault(fakeaws.Fault{Operation: "GetCallerIdentity", Kind: fakeaws.Expired, Times: 1})
	if got, err := caller.Location(t.Context()); err == nil {
		t.Errorf("%v in spite of an error", got)
	}
	cloud.ForgetCalls()
	for range 2 {
		if got, err := caller.Location(t.Context()); err != nil || got != (awsx.Location{Account: "111111111111", Region: "us-east-1"}) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if calls := len(cloud.Calls()); calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

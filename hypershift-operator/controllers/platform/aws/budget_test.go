package aws

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// AWS throttles by account, and this operator works for all clusters in one.
const (
	services           = 1000
	callsAtCreation    = 4.0 // per service
	callsAtRest        = 0.1 // per service and hour
	observedAtRest     = 3 * 24 * time.Hour
	listingBelievedFor = resync * 3 / 4
)

func TestBudgetOfAThousandServices(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	cloud := fakeaws.New(clock).FailOn(t)
	cloud.SetDelays(fakeaws.Delays{})
	account := cloud.Account(provider)
	cfg := account.Config(region, "hypershift-operator")
	lbs := loadbalancer.New(loadbalancer.NewClient(cfg), clock, listingBelievedFor)
	svcs := endpointservice.New(awsx.EC2(cfg), clock, endpointservice.Options{ListTTL: listingBelievedFor, PrincipalsTTL: awsx.PrincipalsTTL})

	// look makes the calls of one reconcile.
	look := func(i int) {
		name, uid := fmt.Sprintf("lb-%d", i), fmt.Sprintf("uid-%d", i)
		lb, found, err := lbs.Find(t.Context(), name)
		if err != nil || !found {
			t.Fatalf("%s: found %v, %v", name, found, err)
		}
		_, err = svcs.Ensure(t.Context(), endpointservice.Spec{
			Owner: endpointservice.Owner{UID: uid, Role: "r"}, LoadBalancerARN: lb.ARN, Principals: []string{"arn:aws:iam::222222222222:role/cpo"},
			Tags: awsx.OwnedTags(nil, uid, "r", uid, uid), Request: uid,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range services {
		account.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: fmt.Sprintf("lb-%d", i), Zones: []string{"us-east-1a"}})
	}
	for i := range services {
		look(i)
	}
	refused := 0
	for _, c := range cloud.Calls() {
		if c.Failed != "" {
			refused++
		}
	}
	if got := float64(len(cloud.Calls())) / services; got > callsAtCreation || refused > 0 {
		t.Errorf("creation takes %.2f calls per service, %d refused; the budget is %.1f and none", got, refused, callsAtCreation)
	}

	cloud.ForgetCalls()
	for range int(observedAtRest / resync) {
		for i := range services {
			look(i)
			clock.Step(resync / services)
		}
	}
	if got := float64(len(cloud.Calls())) / services / observedAtRest.Hours(); got > callsAtRest {
		t.Errorf("at rest %.3f calls per service and hour; the budget is %.1f: %v", got, callsAtRest, fakeaws.Count(cloud.Calls()))
	}
}

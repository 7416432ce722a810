package loadbalancer_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx/loadbalancer"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const (
	region = "us-east-1"
	maxAge = 20 * time.Minute
)

func TestFind(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	cloud := fakeaws.New(clock).FailOn(t)
	cloud.SetDelays(fakeaws.Delays{LoadBalancer: time.Minute})
	cloud.SetPageSize(1)
	account := cloud.Account("111111111111")
	add := func(name string) { account.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: name}) }
	lbs := loadbalancer.New(loadbalancer.NewClient(account.Config(region, "hypershift-operator")), clock, maxAge)

	// find looks the load balancer up and wants that to cost some calls.
	find := func(name string, calls int) (loadbalancer.LoadBalancer, bool) {
		t.Helper()
		cloud.ForgetCalls()
		lb, found, err := lbs.Find(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(cloud.Calls()); got != calls {
			t.Errorf("looking for %s took %d calls, want %d", name, got, calls)
		}
		return lb, found
	}

	add("a")
	add("b")
	if lb, found := find("a", 3); !found || lb.Serves() || lb.State != loadbalancer.Provisioning {
		t.Errorf("a new load balancer is %+v, want it provisioning", lb)
	}
	clock.Step(time.Minute)
	if lb, _ := find("a", 1); !lb.Serves() || lb.ARN == "" || !lb.Network {
		t.Errorf("got %+v, want it active", lb)
	}
	find("a", 0)
	if _, found := find("c", 1); found {
		t.Error("found what is not there")
	}
	add("c")
	clock.Step(time.Minute)
	if lb, found := find("c", 1); !found || !lb.Serves() {
		t.Errorf("got %+v, want it active", lb)
	}

	account.SetLoadBalancerState(region, "a", string(loadbalancer.Failed))
	find("a", 0)
	clock.Step(maxAge + time.Second)
	if lb, _ := find("a", 4); lb.State != loadbalancer.Failed {
		t.Errorf("got %+v, want it failed", lb)
	}
}

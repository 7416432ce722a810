package subnet_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/subnet"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

func TestDescribe(t *testing.T) {
	const region = "us-east-1"
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	cloud := fakeaws.New(clock).FailOn(t)
	account := cloud.Account("222222222222")
	vpc := account.AddVPC(region, fakeaws.VPC{})
	var ids []string
	want := map[string]subnet.Subnet{}
	for _, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1b"} {
		id := account.AddSubnet(region, fakeaws.Subnet{VPC: vpc, Zone: zone})
		ids = append(ids, id)
		want[id] = subnet.Subnet{ID: id, VPC: vpc, ZoneID: account.ZoneID(zone), Zone: zone}
	}
	cloud.SetPageSize(2)
	cache := subnet.NewCache(awsx.EC2(account.Config(region, "")), clock)

	describe := func(ids ...string) map[string]subnet.Subnet {
		got, err := cache.Describe(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if d := cmp.Diff(want, describe(append(ids, "subnet-0123456789abcdef0")...)); d != "" {
		t.Errorf("one that does not exist hides others, or a page is missing (-want +got):\n%s", d)
	}
	cloud.ForgetCalls()
	describe(ids...)
	if calls := cloud.Calls(); len(calls) > 0 {
		t.Errorf("asked again about what cannot change: %v", fakeaws.Count(calls))
	}
	clock.Step(24 * time.Hour)
	describe(ids[0])
	if calls := cloud.Calls(); len(calls) != 1 {
		t.Errorf("a day later: %d calls, want 1", len(calls))
	}
}

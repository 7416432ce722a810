package instance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

func newAccount(t *testing.T) (*fakeaws.Cloud, *fakeaws.Account, instance.API) {
	cloud := fakeaws.New(clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))).FailOn(t)
	account := cloud.Account("222222222222")
	return cloud, account, awsx.EC2(account.Config("us-east-1", "node-pool"))
}

func TestStatuses(t *testing.T) {
	cloud, account, api := newAccount(t)
	for _, i := range []fakeaws.Instance{
		{ID: "i-ok"}, {ID: "i-stopped", State: types.InstanceStateNameStopped}, {ID: "i-host", System: types.SummaryStatusImpaired},
		{ID: "i-boot", Status: types.SummaryStatusImpaired}, {ID: "i-young", System: types.SummaryStatusInitializing, Status: types.SummaryStatusInitializing},
	} {
		account.SetInstance("us-east-1", i)
	}
	want := map[string]instance.Status{
		"i-ok": {State: "running"}, "i-stopped": {State: "stopped"}, "i-host": {State: "running", SystemImpaired: true},
		"i-boot": {State: "running", InstanceImpaired: true}, "i-young": {State: "running"},
	}
	// One call, and one for each id if EC2 does not know one of them.
	for unknown, calls := range map[string]int{"": 1, "i-gone": 7} {
		var ids []string
		for id := range want {
			ids = append(ids, id)
		}
		if unknown != "" {
			ids = append(ids, unknown)
		}
		cloud.ForgetCalls()
		got, err := instance.Statuses(t.Context(), api, ids)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v, %v", got, err)
		}
		for id, status := range want {
			if got[id] != status {
				t.Errorf("%s is %+v, want %+v", id, got[id], status)
			}
		}
		if n := len(cloud.Calls()); n != calls {
			t.Errorf("%d calls, want %d", n, calls)
		}
	}
	cloud.Fault(fakeaws.Fault{Operation: "DescribeInstanceStatus", Kind: fakeaws.Denied})
	if _, err := instance.Statuses(t.Context(), api, []string{"i-ok"}); !awsx.IsDenied(err) {
		t.Errorf("error %v", err)
	}
}

func TestConsole(t *testing.T) {
	cloud, account, api := newAccount(t)
	account.SetInstance("us-east-1", fakeaws.Instance{ID: "i-nitro", Console: "login:\xff"})
	account.SetInstance("us-east-1", fakeaws.Instance{ID: "i-xen", Console: "old", Old: true})
	account.SetInstance("us-east-1", fakeaws.Instance{ID: "i-silent"})
	account.SetInstance("us-east-1", fakeaws.Instance{ID: "i-long", Console: strings.Repeat("a", 100<<10) + "end"})
	for id, want := range map[string]string{"i-nitro": "login:\xff", "i-xen": "old", "i-silent": "", "i-long": strings.Repeat("a", 64<<10-3) + "end"} {
		if got, err := instance.Console(t.Context(), api, id); err != nil || string(got) != want {
			t.Errorf("the console of %s has %d bytes, want %d: %v", id, len(got), len(want), err)
		}
	}
	if _, err := instance.Console(t.Context(), api, "i-gone"); !awsx.IsNotFound(err) {
		t.Errorf("error %v", err)
	}
	cloud.Fault(fakeaws.Fault{Operation: "GetConsoleOutput", Kind: fakeaws.Denied})
	if _, err := instance.Console(t.Context(), api, "i-nitro"); !awsx.IsDenied(err) {
		t.Errorf("error %v", err)
	}
}

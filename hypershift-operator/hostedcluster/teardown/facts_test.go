package teardown

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func leftOf(texts ...string) hyperv1.HostedClusterStatus {
	st := hyperv1.HostedClusterStatus{}
	for _, text := range texts {
		st.LeftBehind = append(st.LeftBehind, hyperv1.LeftBehindResource{Service: serviceAny, ID: text})
	}
	return st
}

func TestTheNextControlPlaneTakesOverTheSecurityGroupOfTheWorkers(t *testing.T) {
	with := func(id string) *hyperv1.HostedControlPlane {
		return &hyperv1.HostedControlPlane{Status: hyperv1.HostedControlPlaneStatus{Platform: &hyperv1.PlatformStatus{AWS: &hyperv1.AWSPlatformStatus{DefaultWorkerSecurityGroupID: id}}}}
	}
	deleted := with("sg-2")
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		left []string
		hcp  *hyperv1.HostedControlPlane
		want []string
	}{
		"a new control plane uses it":               {[]string{"security group sg-2"}, with("sg-2"), nil},
		"other resources are still left behind":     {[]string{"VPC endpoint vpce-1", "security group sg-2"}, with("sg-2"), []string{"VPC endpoint vpce-1"}},
		"there is no new control plane yet":         {[]string{"security group sg-2"}, nil, []string{"security group sg-2"}},
		"the new control plane uses another one":    {[]string{"security group sg-2"}, with("sg-3"), []string{"security group sg-2"}},
		"the control plane that leaves it is going": {[]string{"security group sg-2"}, deleted, []string{"security group sg-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			st := leftOf(c.left...)
			dropTakenOver(&st, c.hcp)
			if got := leftOf(c.want...).LeftBehind; !slices.Equal(st.LeftBehind, got) {
				t.Errorf("got %v, want %v", st.LeftBehind, got)
			}
		})
	}
}

func TestTheStartOfAWaitIsRecordedOnce(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	st := &hyperv1.HostedClusterStatus{}
	for _, at := range []time.Time{now, now.Add(time.Minute)} {
		if got := waitingSince(st, hyperv1.WaitForOIDCBucket, at); !got.Equal(now) {
			t.Errorf("got %s, want %s", got, now)
		}
	}
	endWait(st, hyperv1.WaitForOIDCBucket)
	if len(st.Waits) > 0 {
		t.Errorf("the wait has ended, and the status has %v", st.Waits)
	}
}

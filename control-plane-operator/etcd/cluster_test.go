package etcd

import (
	"slices"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestEndpoints(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{}
	hcp.Namespace = "clusters-demo"
	for policy, want := range map[hyperv1.AvailabilityPolicy][]string{
		hyperv1.SingleReplica: {"https://etcd-client.clusters-demo.svc:2379"},
		hyperv1.HighlyAvailable: {
			"https://etcd-0.etcd-discovery.clusters-demo.svc:2379", "https://etcd-1.etcd-discovery.clusters-demo.svc:2379",
			"https://etcd-2.etcd-discovery.clusters-demo.svc:2379",
		},
	} {
		hcp.Spec.ControllerAvailabilityPolicy = policy
		if got := Of(hcp).Endpoints(); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", policy, got, want)
		}
	}
}

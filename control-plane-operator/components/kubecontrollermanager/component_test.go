package kubecontrollermanager

import (
	"testing"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component, targettest.Single, targettest.HighlyAvailable,
		targettest.Case{Name: "node-ranges-of-both-families", Adapt: func(env *target.ControlPlane) {
			n := &env.HCP.Spec.Networking
			n.AllocateNodeCIDRs = ptr.To(hyperv1.AllocateNodeCIDRsEnabled)
			n.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14", HostPrefix: 23}, {CIDR: "fd01::/48", HostPrefix: 64}}
			n.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}, {CIDR: "fd02::/112"}}
		}},
	)
}

func TestInvalidClusterNetworkIsRejected(t *testing.T) {
	env := targettest.Env()
	env.HCP.Spec.Networking.AllocateNodeCIDRs = ptr.To(hyperv1.AllocateNodeCIDRsEnabled)
	env.HCP.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0"}}
	if _, err := component.Render(Component, env); err == nil {
		t.Error("a range without a length was accepted")
	}
}

// The API server must have the same features.
func TestFeatureGatesMatchTheAPIServer(t *testing.T) {
	targettest.Features(t, Component)
}

package kubecontrollermanager

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	c := component.Container(&d.Spec.Template.Spec, names.KubeControllerManager)
	c.Args = append(c.Args, target.LeaderElection(*d.Spec.Replicas)...)
	// A stolen node identity expires, even if the theft is never detected.
	c.Args = append(c.Args, "--cluster-signing-duration="+names.NodeCertificateLife.String())
	nodeRanges, err := nodeRangeArgs(env.HCP.Spec.Networking)
	if err != nil {
		return err
	}
	gates, err := target.FeatureGates(env)
	if err != nil {
		return err
	}
	c.Args = slices.Concat(c.Args, nodeRanges, gates)
	return nil
}

// nodeRangeArgs makes kube-controller-manager allocate a range of pod addresses for each node, if the network plugin
// expects it.
func nodeRangeArgs(n hyperv1.ClusterNetworking) ([]string, error) {
	if ptr.Deref(n.AllocateNodeCIDRs, hyperv1.AllocateNodeCIDRsDisabled) != hyperv1.AllocateNodeCIDRsEnabled {
		return []string{"--allocate-node-cidrs=false"}, nil
	}
	var pods, services, sizes []string
	for _, entry := range n.ClusterNetwork {
		prefix, err := netip.ParsePrefix(entry.CIDR)
		if err != nil {
			return nil, fmt.Errorf("spec.networking.clusterNetwork has %q, which is not a CIDR: %w", entry.CIDR, err)
		}
		pods = append(pods, entry.CIDR)
		if entry.HostPrefix != 0 {
			sizes = append(sizes, fmt.Sprintf("--node-cidr-mask-size-ipv%d=%d", family(prefix), entry.HostPrefix))
		}
	}
	for _, entry := range n.ServiceNetwork {
		services = append(services, entry.CIDR)
	}
	args := []string{
		"--allocate-node-cidrs=true",
		"--cluster-cidr=" + strings.Join(pods, ","),
		"--service-cluster-ip-range=" + strings.Join(services, ","),
	}
	return append(args, sizes...), nil
}

func family(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 4
	}
	return 6
}

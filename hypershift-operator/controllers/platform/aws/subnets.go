package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
)

// maxSubnets is the largest number of spec.subnetIDs.
const maxSubnets = 200

// poolSubnets returns the subnets of the cluster's NodePools. The
// control-plane-operator chooses of them one in each zone that the service serves.
func (r *Reconciler) poolSubnets(ctx context.Context, es *hyperv1.AWSEndpointService, hc *hyperv1.HostedCluster) (want []string, note string, err error) {
	var pools hyperv1.NodePoolList
	err = r.Client.List(ctx, &pools, client.InNamespace(hc.Namespace), client.MatchingFields{index.NodePoolCluster: hc.Name})
	if err != nil {
		return nil, "", fmt.Errorf("listing the node pools of %s: %w", hc.Name, err)
	}
	want, note = desiredSubnets(pools.Items, es.Spec.SubnetIDs, !hc.DeletionTimestamp.IsZero())
	if id := onDemandSubnet(hc); len(want) == 0 && id != "" {
		want = []string{id}
	}
	return want, note, nil
}

// onDemandSubnet is the subnet of a cluster that may have nodes without node pools.
func onDemandSubnet(hc *hyperv1.HostedCluster) string {
	aws := hc.Spec.Platform.AWS
	if hc.Spec.AutoNode.Karpenter() == nil || aws == nil || aws.CloudProviderConfig == nil || aws.CloudProviderConfig.Subnet == nil {
		return ""
	}
	return ptr.Deref(aws.CloudProviderConfig.Subnet.ID, "")
}

// desiredSubnets is the union of the pools' subnets, sorted, and a note for the user about pools that it cannot follow. A pool counts until
// it is deleted: its machines live that long. No subnet is removed while a pool cannot be read: any subnet may belong to it. No subnet is
// removed from a cluster that is being deleted, and the last subnet never: its workers would be cut off, and the clean-up inside the hosted
// cluster would stop.
func desiredSubnets(pools []hyperv1.NodePool, have []string, clusterDying bool) (want []string, note string) {
	var filtering, unreadable []string
	for _, np := range pools {
		if np.Unreadable() != "" {
			unreadable = append(unreadable, np.Name)
			continue
		}
		if np.Spec.Platform.AWS == nil {
			continue
		}
		subnet := np.Spec.Platform.AWS.Subnet
		switch {
		case subnet.ID != nil && *subnet.ID != "":
			want = append(want, *subnet.ID)
		case len(subnet.Filters) > 0:
			filtering = append(filtering, np.Name)
		}
	}
	if clusterDying || len(want) == 0 || len(unreadable) > 0 {
		want = append(want, have...)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	var notes []string
	if len(filtering) > 0 {
		slices.Sort(filtering)
		notes = append(notes, fmt.Sprintf("node pools %s choose their subnet by filters, which the endpoint cannot follow: set spec.platform.aws.subnet.id, or make sure that another pool names a subnet of the same zone", strings.Join(filtering, ", ")))
	}
	if len(unreadable) > 0 {
		slices.Sort(unreadable)
		notes = append(notes, fmt.Sprintf("node pools %s cannot be read, so no subnet is taken away: write their spec again", strings.Join(unreadable, ", ")))
	}
	if len(want) > maxSubnets {
		notes = append(notes, fmt.Sprintf("the node pools live in %d subnets; the endpoint follows the first %d", len(want), maxSubnets))
		want = want[:maxSubnets]
	}
	return want, strings.Join(notes, "; ")
}

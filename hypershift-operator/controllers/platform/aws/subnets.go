package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// ownerAnnotation holds the UID of the HostedControlPlane for which the endpoint
// service is made: the value of its owner tag. It is written before the service
// is made and stays, so that deletion finds the service when the
// HostedControlPlane is gone.
const ownerAnnotation = "hypershift.openshift.io/owner-uid"

// ownerUID is the owner that is recorded in the object, or "".
func (s *scope) ownerUID() string { return s.es.Annotations[ownerAnnotation] }

// maxSubnets is what spec.subnetIDs takes.
const maxSubnets = 200

// publishSubnets writes where the workers of the cluster live. This is where
// the endpoint's subnets are decided; the control-plane-operator picks of them
// one in each zone that the service serves.
func (r *Reconciler) publishSubnets(ctx context.Context, s *scope) error {
	if s.hc == nil {
		return nil // ensureService says so
	}
	var pools hyperv1.NodePoolList
	err := r.client.List(ctx, &pools, client.InNamespace(s.hc.Namespace), client.MatchingFields{index.NodePoolCluster: s.hc.Name})
	if err != nil {
		return fmt.Errorf("listing the node pools of %s: %w", s.hc.Name, err)
	}
	want, note := desiredSubnets(pools.Items, s.es.Spec.SubnetIDs, !s.hc.DeletionTimestamp.IsZero())
	s.note = note
	owner := cmp.Or(s.ownerUID(), string(s.hcp.UID))
	if slices.Equal(want, s.es.Spec.SubnetIDs) && s.ownerUID() == owner {
		return nil
	}
	return r.applySpec(ctx, s.es, owner, want)
}

// desiredSubnets is the union of the pools' subnets, sorted, and what the user
// should know about pools that it cannot follow. A pool counts until it is
// gone: its machines live that long. Nothing is taken away from a cluster that
// is being deleted, and the last subnet never: its workers would be cut off,
// and with them what must still be cleaned up from inside.
func desiredSubnets(pools []hyperv1.NodePool, have []string, clusterDying bool) (want []string, note string) {
	var filtering []string
	for _, np := range pools {
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
	if clusterDying || len(want) == 0 {
		want = append(want, have...)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	var notes []string
	if len(filtering) > 0 {
		slices.Sort(filtering)
		notes = append(notes, fmt.Sprintf("node pools %s choose their subnet by filters, which the endpoint cannot follow: set spec.platform.aws.subnet.id, or make sure that another pool names a subnet of the same zone", strings.Join(filtering, ", ")))
	}
	if len(want) > maxSubnets {
		notes = append(notes, fmt.Sprintf("the node pools live in %d subnets; the endpoint follows the first %d", len(want), maxSubnets))
		want = want[:maxSubnets]
	}
	return want, strings.Join(notes, "; ")
}

// applySpec writes our part of metadata and spec under our field owner.
func (r *Reconciler) applySpec(ctx context.Context, es *hyperv1.AWSEndpointService, owner string, subnets []string) error {
	spec := map[string]any{}
	if len(subnets) > 0 {
		ids := make([]any, 0, len(subnets))
		for _, id := range subnets {
			ids = append(ids, id)
		}
		spec["subnetIDs"] = ids
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("AWSEndpointService"))
	u.SetNamespace(es.Namespace)
	u.SetName(es.Name)
	// Both make sure that this never creates an object that was just deleted.
	u.SetUID(es.UID)
	u.SetResourceVersion(es.ResourceVersion)
	u.SetAnnotations(map[string]string{ownerAnnotation: owner})
	err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(names.HypershiftOperator), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("publishing subnets: %w", err)
	}
	es.Spec.SubnetIDs = subnets
	es.Annotations = u.GetAnnotations()
	es.ResourceVersion, es.Generation = u.GetResourceVersion(), u.GetGeneration()
	return nil
}

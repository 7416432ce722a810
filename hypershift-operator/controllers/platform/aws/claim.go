package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// ownerAnnotation holds the UID of the HostedControlPlane for which the endpoint
// service is made: the value of its owner tag. It is written before the service
// is made and stays, so that deletion finds the service when the
// HostedControlPlane is gone.
const ownerAnnotation = "hypershift.openshift.io/owner-uid"

// ownerUID is the owner that is recorded in the object, or "".
func (s *scope) ownerUID() string { return s.es.Annotations[ownerAnnotation] }

// A claim is our part of an AWSEndpointService outside of its status.
type claim struct {
	held    bool // our finalizer is on it
	owner   string
	subnets []string
}

func claimOn(es *hyperv1.AWSEndpointService) claim {
	return claim{
		held:    slices.Contains(es.Finalizers, hyperv1.HypershiftOperatorFinalizer),
		owner:   es.Annotations[ownerAnnotation],
		subnets: es.Spec.SubnetIDs,
	}
}

func (c claim) equal(o claim) bool {
	return c.held == o.held && c.owner == o.owner && slices.Equal(c.subnets, o.subnets)
}

// ensureClaim makes sure that nothing is made in AWS before it is recorded for
// whom, and that we are asked before the object goes.
func (r *Reconciler) ensureClaim(ctx context.Context, s *scope) error {
	if s.hc == nil {
		return nil // nothing is made then: ensureService says so
	}
	want, note, err := r.desiredClaim(ctx, s.es, s.owner)
	if err != nil {
		return err
	}
	s.note = note
	if want.equal(claimOn(s.es)) {
		return nil
	}
	return r.apply(ctx, s.es, want)
}

// desiredClaim needs an owner that has a HostedCluster.
func (r *Reconciler) desiredClaim(ctx context.Context, es *hyperv1.AWSEndpointService, o owner) (want claim, note string, err error) {
	want = claim{held: true, owner: cmp.Or(es.Annotations[ownerAnnotation], string(o.hcp.UID))}
	want.subnets, note, err = r.poolSubnets(ctx, es, o.hc)
	return want, note, err
}

// apply writes all of the claim at once, under our field owner.
func (r *Reconciler) apply(ctx context.Context, es *hyperv1.AWSEndpointService, c claim) error {
	spec := map[string]any{}
	if len(c.subnets) > 0 {
		ids := make([]any, 0, len(c.subnets))
		for _, id := range c.subnets {
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
	u.SetFinalizers([]string{hyperv1.HypershiftOperatorFinalizer}) // those of others stay: it is a set
	u.SetAnnotations(map[string]string{ownerAnnotation: c.owner})
	err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(names.HypershiftOperator), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("writing finalizer, owner and subnets: %w", err)
	}
	es.Spec.SubnetIDs = c.subnets
	es.Finalizers, es.Annotations = u.GetFinalizers(), u.GetAnnotations()
	es.ResourceVersion, es.Generation = u.GetResourceVersion(), u.GetGeneration()
	return nil
}

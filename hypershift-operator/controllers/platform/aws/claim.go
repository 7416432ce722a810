package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1apply "github.com/hosted-control-planes/hypershift/api/applyconfiguration/hypershift/v1beta1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// tagsAnnotation lists the keys that spec.resourceTags has had, as JSON. They are ours: a key that the
// user removes is removed from the endpoint service. Tags of others stay.
const tagsAnnotation = "hypershift.openshift.io/resource-tag-keys"

// A claim is our part of an AWSEndpointService outside of its status.
type claim struct {
	held    bool   // our finalizer is on it
	tags    string // value of tagsAnnotation, empty for none
	subnets []string
}

func claimOn(es *hyperv1.AWSEndpointService) claim {
	return claim{
		held:    slices.Contains(es.Finalizers, hyperv1.HypershiftOperatorFinalizer),
		tags:    es.Annotations[tagsAnnotation],
		subnets: es.Spec.SubnetIDs,
	}
}

func (c claim) equal(o claim) bool {
	return c.held == o.held && c.tags == o.tags && slices.Equal(c.subnets, o.subnets)
}

// ensureClaim adds our finalizer before anything is created in AWS, so that the
// object is not deleted without us.
func (r *Reconciler) ensureClaim(ctx context.Context, s *scope) error {
	if !s.known() {
		return nil // no endpoint service is created then: ensureService reports it
	}
	want, note, err := r.desiredClaim(ctx, s.es, s.hc)
	if err != nil {
		return err
	}
	s.note = note
	if want.equal(claimOn(s.es)) {
		return nil
	}
	return r.apply(ctx, s.es, want)
}

func (r *Reconciler) desiredClaim(ctx context.Context, es *hyperv1.AWSEndpointService, hc *hyperv1.HostedCluster) (want claim, note string, err error) {
	want = claim{held: true, tags: desiredTagKeys(es)}
	want.subnets, note, err = r.poolSubnets(ctx, es, hc)
	return want, note, err
}

// desiredTagKeys adds the current keys to the past keys.
func desiredTagKeys(es *hyperv1.AWSEndpointService) string {
	keys := pastTagKeys(es)
	for _, t := range es.Spec.ResourceTags {
		keys = append(keys, t.Key)
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	text, _ := json.Marshal(slices.Compact(keys)) // strings marshal
	return string(text)
}

// pastTagKeys is empty if the list cannot be read: tags that are not known to be ours stay.
func pastTagKeys(es *hyperv1.AWSEndpointService) []string {
	var keys []string
	if json.Unmarshal([]byte(es.Annotations[tagsAnnotation]), &keys) != nil {
		return nil
	}
	return keys
}

// apply writes all of the claim at once, under our field owner.
func (r *Reconciler) apply(ctx context.Context, es *hyperv1.AWSEndpointService, c claim) error {
	applied := claimConfiguration(es, c)
	err := r.Client.Apply(ctx, applied, client.FieldOwner(names.HypershiftOperator), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("writing finalizer, tag keys and subnets: %w", err)
	}
	es.Spec.SubnetIDs = c.subnets
	es.Finalizers, es.Annotations = applied.Finalizers, applied.Annotations
	es.ResourceVersion, es.Generation = ptr.Deref(applied.ResourceVersion, ""), ptr.Deref(applied.Generation, 0)
	return nil
}

// claimConfiguration has UID and resourceVersion, so that it never creates an object that was just deleted. The finalizers of
// other writers stay, because metadata.finalizers is a set.
func claimConfiguration(es *hyperv1.AWSEndpointService, c claim) *hyperv1apply.AWSEndpointServiceApplyConfiguration {
	config := hyperv1apply.AWSEndpointService(es.Name, es.Namespace).
		WithUID(es.UID).
		WithResourceVersion(es.ResourceVersion).
		WithFinalizers(hyperv1.HypershiftOperatorFinalizer).
		WithSpec(hyperv1apply.AWSEndpointServiceSpec().WithSubnetIDs(c.subnets...))
	if c.tags != "" {
		config.WithAnnotations(map[string]string{tagsAnnotation: c.tags})
	}
	return config
}

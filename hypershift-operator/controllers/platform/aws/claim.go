package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// tagsAnnotation lists the keys that spec.resourceTags has had, as JSON. They are
// ours: one that the user removes goes from the endpoint service, and a tag that
// somebody else put there stays.
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

// ensureClaim makes sure that nothing is made in AWS before we are sure to be
// asked when the object goes.
func (r *Reconciler) ensureClaim(ctx context.Context, s *scope) error {
	if !s.known() {
		return nil // nothing is made then: ensureService says so
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

// desiredTagKeys adds the keys of today to those of the past.
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

// pastTagKeys is empty if somebody spoilt the list: what nobody knows to be ours stays.
func pastTagKeys(es *hyperv1.AWSEndpointService) []string {
	var keys []string
	if json.Unmarshal([]byte(es.Annotations[tagsAnnotation]), &keys) != nil {
		return nil
	}
	return keys
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
	if c.tags != "" {
		u.SetAnnotations(map[string]string{tagsAnnotation: c.tags})
	}
	err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(names.HypershiftOperator), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("writing finalizer, tag keys and subnets: %w", err)
	}
	es.Spec.SubnetIDs = c.subnets
	es.Finalizers, es.Annotations = u.GetFinalizers(), u.GetAnnotations()
	es.ResourceVersion, es.Generation = u.GetResourceVersion(), u.GetGeneration()
	return nil
}

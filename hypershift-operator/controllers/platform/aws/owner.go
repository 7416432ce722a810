package aws

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// owner is the cluster that the objects of a namespace serve.
type owner struct {
	// hcp is nil if there is none in the namespace, hc if it is gone or has no name.
	hcp *hyperv1.HostedControlPlane
	hc  *hyperv1.HostedCluster
	// crowd names the control planes if there are several: then none is the owner.
	crowd []string
}

// resolveOwner finds the control plane of a namespace, and its HostedCluster.
func (r *Reconciler) resolveOwner(ctx context.Context, namespace string) (owner, error) {
	var hcps hyperv1.HostedControlPlaneList
	if err := r.client.List(ctx, &hcps, client.InNamespace(namespace)); err != nil {
		return owner{}, fmt.Errorf("listing control planes of namespace %s: %w", namespace, err)
	}
	var o owner
	switch len(hcps.Items) {
	case 0:
		return o, nil
	case 1:
		o.hcp = &hcps.Items[0]
	default:
		for _, hcp := range hcps.Items {
			o.crowd = append(o.crowd, hcp.Name)
		}
		return o, nil
	}
	hcNamespace, hcName, ok := strings.Cut(o.hcp.Annotations[hyperv1.HostedClusterAnnotation], "/")
	if !ok {
		return o, nil
	}
	hc := &hyperv1.HostedCluster{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: hcNamespace, Name: hcName}, hc)
	if client.IgnoreNotFound(err) != nil {
		return owner{}, fmt.Errorf("getting HostedCluster %s/%s: %w", hcNamespace, hcName, err)
	}
	if err == nil {
		o.hc = hc
	}
	return o, nil
}

// pausedFor says whether and how long the user wants to be left alone: 0 means
// until the field changes.
func (o owner) pausedFor(now time.Time) (left time.Duration, paused bool) {
	if o.hc == nil {
		return 0, false
	}
	paused, left = o.hc.Spec.PausedUntil.Paused(now)
	return left, paused
}

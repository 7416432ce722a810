package aws

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// owner is the cluster of a namespace.
type owner struct {
	// namespace is nil if it is not the namespace of a control plane.
	namespace *corev1.Namespace
	// hcp is nil if the namespace contains no HostedControlPlane. Only its UID is trusted: the
	// tenant's operator may write the rest.
	hcp *hyperv1.HostedControlPlane
	// hc is nil if it is gone, or if the namespace belongs to another one.
	hc *hyperv1.HostedCluster
	// crowd names the control planes if there are several: then none is the owner.
	crowd []string
}

// resolveOwner finds the control plane of a namespace, and its HostedCluster.
func (r *Reconciler) resolveOwner(ctx context.Context, namespace string) (owner, error) {
	ns := &corev1.Namespace{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: namespace}, ns)
	if apierrors.IsNotFound(err) {
		return owner{}, nil // the cache holds the namespaces of control planes
	}
	if err != nil {
		return owner{}, fmt.Errorf("getting namespace %s: %w", namespace, err)
	}
	o := owner{namespace: ns}
	var hcps hyperv1.HostedControlPlaneList
	if err := r.Client.List(ctx, &hcps, client.InNamespace(namespace)); err != nil {
		return owner{}, fmt.Errorf("listing control planes of namespace %s: %w", namespace, err)
	}
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
	o.hc, err = r.clusterOf(ctx, ns)
	return o, err
}

// clusterOf returns the HostedCluster for which the namespace was made, or nil.
// The HostedControlPlane names one, too, but the tenant's operator may write it;
// it may not write its Namespace.
func (r *Reconciler) clusterOf(ctx context.Context, ns *corev1.Namespace) (*hyperv1.HostedCluster, error) {
	namespace, name, ok := strings.Cut(ns.Annotations[hyperv1.HostedClusterAnnotation], "/")
	if !ok || names.ControlPlaneNamespace(namespace, name) != ns.Name {
		return nil, nil
	}
	hc := &hyperv1.HostedCluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, hc)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting HostedCluster %s/%s: %w", namespace, name, err)
	}
	if err != nil || ns.Labels[hyperv1.HostedClusterUIDLabel] != string(hc.UID) {
		return nil, nil
	}
	return hc, nil
}

// known is true if there is a cluster with a readable spec.
func (o owner) known() bool { return o.hcp != nil && o.hc != nil && o.hc.Unreadable() == "" }

// pausedFor reports whether the user has paused reconciliation, and for how long: 0
// means until the field changes.
func (o owner) pausedFor(now time.Time) (remaining time.Duration, paused bool) {
	if o.hc == nil {
		return 0, false
	}
	paused, remaining = o.hc.Spec.PausedUntil.Paused(now)
	return remaining, paused
}

package hostedcluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/isolation"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/teardown"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ensureNamespace creates the control plane's namespace. It does not use a namespace that belongs to something else.
func (r *Reconciler) ensureNamespace(ctx context.Context, s *scope) error {
	if s.namespace == nil {
		// The cache contains only the namespaces of control planes.
		ns := &corev1.Namespace{}
		err := r.Reader.Get(ctx, client.ObjectKey{Name: s.plane.Name}, ns)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("getting namespace %s: %w", s.plane.Name, err)
		case teardown.IsOrphaned(s.plane.Cluster, s.hc, ns):
			return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s of an earlier cluster of this name is being taken down%s", s.plane.Name, teardown.AdoptedDetail(ns))
		case !controlplane.Owns(s.hc, ns) && !ns.DeletionTimestamp.IsZero():
			return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s of an earlier cluster is being deleted", s.plane.Name)
		case !controlplane.Owns(s.hc, ns):
			return reconcile.Wait(time.Minute, hyperv1.NamespaceInUseReason,
				"namespace %s exists and does not belong to this cluster: delete it, or give the HostedCluster another name", s.plane.Name)
		}
	}
	if s.namespaceTerminating() {
		return r.teardown.AwaitNamespace(ctx, r.deletionOf(s))
	}
	set, namespace := isolation.Namespace(s.hc, s.services(r.ServesRoutes))
	namespace.Annotations[teardown.RecordAnnotation] = r.teardown.Record(s.hc)
	_, err := r.apply.Apply(ctx, set, namespace)
	return err
}

// ensureLimits bounds the resources of the namespace.
func (r *Reconciler) ensureLimits(ctx context.Context, s *scope) error {
	set, limits := isolation.Limits(s.plane, r.Limits)
	_, err := r.apply.Apply(ctx, set, limits...)
	return err
}

// ensurePolicies bounds the connections of the namespace.
func (r *Reconciler) ensurePolicies(ctx context.Context, s *scope) error {
	api, err := isolation.ManagementAPIAddresses(ctx, r.Client, r.ManagementAPIEndpoints)
	if err != nil {
		return err
	}
	set, policies := isolation.Policies(s.plane, isolation.ManagementCluster{API: api, Blocked: r.BlockedCIDRs})
	_, err = r.apply.Apply(ctx, set, policies...)
	return err
}

package hostedcluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// namespaceSet has no kinds to prune by: all clusters share its name.
var namespaceSet = apply.Set{Name: "namespace"}

// ensureNamespace creates the control plane's namespace. It does not use one that
// belongs to something else.
func (r *Reconciler) ensureNamespace(ctx context.Context, s *scope) error {
	if s.namespace == nil {
		// The cache has the namespaces of control planes only.
		ns := &corev1.Namespace{}
		err := r.Reader.Get(ctx, client.ObjectKey{Name: s.plane.Name}, ns)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("getting namespace %s: %w", s.plane.Name, err)
		case isOrphaned(client.ObjectKeyFromObject(s.hc), s.hc, ns):
			return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s of an earlier cluster of this name is being taken down%s", s.plane.Name, deletionDetail(ns))
		case !owns(s.hc, ns) && !ns.DeletionTimestamp.IsZero():
			return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s of an earlier cluster is being deleted", s.plane.Name)
		case !owns(s.hc, ns):
			return reconcile.Wait(time.Minute, hyperv1.NamespaceInUseReason,
				"namespace %s exists and does not belong to this cluster: delete it, or give the HostedCluster another name", s.plane.Name)
		}
	}
	if s.namespaceTerminating() {
		return r.awaitNamespace(ctx, s)
	}
	_, err := r.apply.Apply(ctx, namespaceSet, r.desiredNamespace(s))
	return err
}

// awaitNamespace waits until a namespace that a user has deleted is gone. The
// control-plane-operator was deleted with it and cannot run again, so that its
// finalizers would remain forever.
func (r *Reconciler) awaitNamespace(ctx context.Context, s *scope) error {
	held := false
	for i := range s.endpoints {
		held = held || hasOperatorFinalizer(&s.endpoints[i])
		if err := r.orphanEndpoint(ctx, s, &s.endpoints[i]); err != nil {
			return err
		}
	}
	if !held {
		if err := r.orphanControlPlane(ctx, s); err != nil {
			return err
		}
	}
	if err := r.orphanMachines(ctx, s); err != nil {
		return err
	}
	if r.missing == "" {
		if _, err := r.capi.Release(ctx, s.machinesCluster()); err != nil {
			return err
		}
	}
	return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s is being deleted by somebody else; it is made again afterwards%s", s.plane.Name, s.blockedDetail())
}

// podSecurity is the pod security level of control planes.
const podSecurity = "restricted"

func (r *Reconciler) desiredNamespace(s *scope) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.plane.Name,
		Annotations: map[string]string{
			hyperv1.HostedClusterAnnotation: clusterKey(s.hc), recordAnnotation: r.recordFor(s.hc), hyperv1.PublishedNamesAnnotation: publishedNames(s.hc),
		},
		Labels: map[string]string{
			hyperv1.ControlPlaneNamespaceLabel:   "true",
			hyperv1.HostedClusterUIDLabel:        string(s.hc.UID),
			"pod-security.kubernetes.io/enforce": podSecurity,
			"pod-security.kubernetes.io/audit":   podSecurity,
			"pod-security.kubernetes.io/warn":    podSecurity,
		},
	}}
}

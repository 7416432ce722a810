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

// ensureNamespace makes the control plane's namespace, and refuses one that is
// there and belongs to somebody else.
func (r *Reconciler) ensureNamespace(ctx context.Context, s *scope) error {
	if s.namespace == nil {
		// The cache shows the namespaces of control planes only.
		ns := &corev1.Namespace{}
		err := r.Reader.Get(ctx, client.ObjectKey{Name: s.controlPlane}, ns)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("getting namespace %s: %w", s.controlPlane, err)
		case orphan(client.ObjectKeyFromObject(s.hc), s.hc, ns):
			return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s of an earlier cluster of this name is being taken down%s", s.controlPlane, farewell(ns))
		case !owns(s.hc, ns) && !ns.DeletionTimestamp.IsZero():
			return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s of an earlier cluster is being deleted", s.controlPlane)
		case !owns(s.hc, ns):
			return reconcile.Wait(time.Minute, hyperv1.NamespaceInUseReason,
				"namespace %s exists and does not belong to this cluster: delete it, or give the HostedCluster another name", s.controlPlane)
		}
	}
	if s.namespaceEnds() {
		return r.awaitNamespace(ctx, s)
	}
	_, err := r.apply.Apply(ctx, namespaceSet, r.desiredNamespace(s))
	return err
}

// awaitNamespace waits until a namespace that somebody has deleted is gone. The
// control-plane-operator went with it and cannot be brought back, so that what
// it holds back would stay for ever.
func (r *Reconciler) awaitNamespace(ctx context.Context, s *scope) error {
	held := false
	for i := range s.endpoints {
		held = held || heldByOperator(&s.endpoints[i])
		if err := r.giveUp(ctx, s, &s.endpoints[i]); err != nil {
			return err
		}
	}
	if !held {
		if err := r.releaseControlPlane(ctx, s); err != nil {
			return err
		}
	}
	if err := r.giveUpMachines(ctx, s); err != nil {
		return err
	}
	if _, err := r.releaseCluster(ctx, s); err != nil {
		return err
	}
	return reconcile.Wait(10*time.Second, hyperv1.NamespaceInUseReason, "namespace %s is being deleted by somebody else; it is made again afterwards%s", s.controlPlane, s.plight())
}

// podSecurity is what the pods of a control plane may do: nothing special.
const podSecurity = "restricted"

func (r *Reconciler) desiredNamespace(s *scope) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.controlPlane,
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

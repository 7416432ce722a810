// Package etcdconnections refuses new connections to a single etcd that is about to stop.
//
//	pod of etcd is deleted ─► its label is removed ─► Service etcd-client has no address ─► the preStop hook ends, etcd stops
//
// API servers connect again in the moment in which etcd closes their connections. The pod would still be the only address of the
// Service, to which kube-proxy sends connections also while it terminates (KEP-1669). Its network is removed a moment later, and then
// such a connection gets no answer: all its packets go to the former pod, and kube-apiserver waits for 20 s (dialTimeout in
// k8s.io/apiserver/pkg/storage/storagebackend/factory). Without an address, a connection is refused at once and repeated after
// a second. Connections that exist remain until etcd stops.
//
// No component depends on it: without the operator, etcd only stops a few seconds later.
package etcdconnections

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct{ Client client.Client }

// Reconciler removes labels of pods.
type Reconciler struct{ Options }

// Controller reconciles the pods of etcd.
type Controller = reconcile.Controller[*corev1.Pod, *corev1.Pod]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts}
	steps := []reconcile.Step[*corev1.Pod]{{Name: "new connections", Run: r.refuseConnections}}
	return &Controller{
		Name: "etcdconnections", Client: opts.Client,
		Scope: reconcile.Itself[*corev1.Pod],
		Phase: func(pod *corev1.Pod) []reconcile.Step[*corev1.Pod] {
			if stops(pod) {
				return steps
			}
			return nil
		},
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	return c.Builder(mgr).For(&corev1.Pod{}, builder.WithPredicates(predicate.NewPredicateFuncs(stops))).Complete(c)
}

// stops reports whether a pod gets new connections although it is being deleted.
func stops(pod client.Object) bool {
	_, connected := pod.GetLabels()[etcd.ConnectionsLabel]
	return connected && !pod.GetDeletionTimestamp().IsZero()
}

// refuseConnections removes the label from this version of the pod only: the cache can still contain a deleted pod, and the next pod has
// an equal name.
func (r *Reconciler) refuseConnections(ctx context.Context, pod *corev1.Pod) error {
	refusing := pod.DeepCopy()
	delete(refusing.Labels, etcd.ConnectionsLabel)
	err := r.Client.Patch(ctx, refusing, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing a label of pod %s: %w", pod.Name, err)
	}
	return nil
}

// Package routerconfig makes the pods of the router use a change of their
// configuration at once.
//
//	ConfigMap router changes ─► annotation on the pods of the router ─► kubelets sync these pods
//
// A kubelet updates mounted ConfigMaps when it syncs the pod, once in a minute. A host
// that has just been published would not be served for that long. A change of the pod
// makes its kubelet sync it now. The configuration does not depend on it: if the operator stops before
// it has written the annotation, the pods get the configuration a minute later.
package routerconfig

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/hosted-control-planes/hypershift/internal/haproxy"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct{ Client client.Client }

// Reconciler annotates the pods of routers.
type Reconciler struct{ Options }

// Controller reconciles the ConfigMaps of routers.
type Controller = reconcile.Controller[*corev1.ConfigMap, *corev1.ConfigMap]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts}
	steps := []reconcile.Step[*corev1.ConfigMap]{{Name: "router pods", Run: r.annotatePods}}
	return &Controller{
		Name: "routerconfig", Client: opts.Client,
		Scope: reconcile.Itself[*corev1.ConfigMap],
		Phase: func(*corev1.ConfigMap) []reconcile.Step[*corev1.ConfigMap] { return steps },
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	return c.Builder(mgr).For(&corev1.ConfigMap{}, builder.WithPredicates(changes)).Complete(c)
}

// changes are changes of the router's configuration. A starting pod mounts the newest configuration.
var changes = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectNew.GetName() == names.Router && !maps.Equal(e.ObjectOld.(*corev1.ConfigMap).Data, e.ObjectNew.(*corev1.ConfigMap).Data)
	},
}

func (r *Reconciler) annotatePods(ctx context.Context, config *corev1.ConfigMap) error {
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(config.Namespace), client.MatchingLabels{"app": names.PrivateRouter}); err != nil {
		return fmt.Errorf("listing the pods of the router: %w", err)
	}
	return haproxy.SyncPods(ctx, r.Client, pods.Items, config.ResourceVersion)
}

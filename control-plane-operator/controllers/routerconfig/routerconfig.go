// Package routerconfig makes kubelets sync a changed configuration of the router at once.
//
//	ConfigMap router changes ──► annotation on its pods ──► their kubelets sync the mounted ConfigMap
//
// A kubelet syncs ConfigMaps when it syncs the pod, once a minute. Without this controller a new host would not be
// served for that long. A change of the pod triggers a sync at once. A missed annotation during a restart of the
// operator is harmless, because the kubelet syncs a minute later.
package routerconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// annotation is an annotation of pods. It has the last version of the ConfigMap.
const annotation = "hypershift.openshift.io/router-config"

// Options are what a Reconciler needs.
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
		Name: "nudge", Client: opts.Client,
		Scope: reconcile.Itself[*corev1.ConfigMap],
		Phase: func(*corev1.ConfigMap) []reconcile.Step[*corev1.ConfigMap] { return steps },
	}
}

// changes selects changes of the router's configuration. A new pod has the latest version.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	return c.Builder(mgr).For(&corev1.ConfigMap{}, builder.WithPredicates(changes)).Complete(c)
}

// changes are changes of the router's configuration. A pod that starts has the newest one.
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
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: config.ResourceVersion}}})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Annotations[annotation] == config.ResourceVersion || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, body)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// Package routerconfig has the pods of the router see a change of its configuration at
// once.
//
//	ConfigMap router changes ──► annotation on its pods ──► their kubelets look at what they mount
//
// A kubelet looks at ConfigMaps when it looks at the pod, once in a minute; a
// host that was just given out would not be served for that long. A change of
// the pod lets it look now. It is no more than that: a nudge that was not given,
// because we started or stopped that moment, is missed by nobody a minute later.
package routerconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// annotation, on a pod, is the version of the ConfigMap that it was told of.
const annotation = "hypershift.openshift.io/router-config"

// Reconciler nudges the pods of routers.
type Reconciler struct{ Client client.Client }

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, c client.Client) error {
	return ctrl.NewControllerManagedBy(mgr).Named("nudge").
		For(&corev1.ConfigMap{}, builder.WithPredicates(changes)).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)}).
		Complete(&Reconciler{Client: c})
}

// changes are those of the router's configuration. A pod that starts has the
// newest one.
var changes = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectNew.GetName() == names.Router && !maps.Equal(e.ObjectOld.(*corev1.ConfigMap).Data, e.ObjectNew.(*corev1.ConfigMap).Data)
	},
}

// Reconcile nudges the pods of the router that a ConfigMap is for.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	config := &corev1.ConfigMap{}
	if err := r.Client.Get(ctx, req.NamespacedName, config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(req.Namespace), client.MatchingLabels{"app": names.PrivateRouter}); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the pods of the router: %w", err)
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: config.ResourceVersion}}})
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Annotations[annotation] == config.ResourceVersion || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, body)); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("nudging pod %s: %w", pod.Name, err)
		}
	}
	return ctrl.Result{}, nil
}

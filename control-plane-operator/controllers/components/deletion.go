package components

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// awaitOthers keeps the pods until all other finalizers are removed: a controller that deletes cloud resources may need
// the hosted API server. The removal of a finalizer triggers a reconcile.
func (r *Reconciler) awaitOthers(_ context.Context, s *scope) error {
	ignored := []string{hyperv1.ControlPlaneComponentsFinalizer, metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}
	for _, f := range s.hcp.Finalizers {
		if !slices.Contains(ignored, f) {
			return reconcile.Wait(0, hyperv1.DeletingReason, "waiting for the removal of finalizer %s", f)
		}
	}
	return nil
}

// deleteComponents deletes the components and waits for the last pod.
func (r *Reconciler) deleteComponents(ctx context.Context, s *scope) error {
	deleted, err := r.runner.Delete(ctx, s.hcp)
	if err != nil {
		return err
	}
	if !deleted {
		return reconcile.Wait(time.Second, hyperv1.DeletingReason, "waiting for the deletion of the last pod")
	}
	return nil
}

func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	return s.status.RemoveFinalizer(ctx, hyperv1.ControlPlaneComponentsFinalizer)
}

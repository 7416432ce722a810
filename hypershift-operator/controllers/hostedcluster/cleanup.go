package hostedcluster

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const annotationTrue = "true"

// awaitCleanup waits, if the user requests it, until the hosted cluster has deleted
// the cloud resources that it created. It needs its API server for that; if that
// never ran, there are none. The wait is limited, and what remains is reported.
func (r *Reconciler) awaitCleanup(ctx context.Context, s *scope) error {
	if s.hc.Annotations[hyperv1.CleanupCloudResourcesAnnotation] != annotationTrue || s.hcp == nil || !s.hcp.DeletionTimestamp.IsZero() {
		return nil
	}
	api := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
	if api == nil || api.Reason == hyperv1.NotDeployedReason {
		return nil
	}
	said := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	if said != nil && said.Status == metav1.ConditionTrue || len(s.hc.Status.LeftBehind) > 0 {
		return nil
	}
	if err := r.requestCleanup(ctx, s); err != nil {
		return err
	}
	left := "what carries the tag " + names.ClusterTag(s.hc.Spec.InfraID)
	if said != nil {
		left = said.Message
	}
	legacy := meta.FindStatusCondition(s.hc.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	if r.isOverdue(s, waitingSince(&s.hc.Status, hyperv1.WaitForCloudResourceCleanup, legacy, r.Clock.Now())) {
		why := "the hosted cluster has not removed everything that it made in the cloud"
		if api.Status != metav1.ConditionTrue {
			why = "the hosted API server does not answer (" + api.Message + ")"
		}
		return r.recordLeft(ctx, s, nil, why, hyperv1.LeftBehindResource{Service: serviceAny, ID: left, Reason: hyperv1.CloudResourcesRemainingReason})
	}
	message := fmt.Sprintf("waiting for the hosted cluster to remove what it made in the cloud: %s; what is there after %s is left behind", left, orphanAfter(s))
	return reconcile.Unverified(hyperv1.CloudResourcesRemainingReason, "%s", message).About(hyperv1.CloudResourcesDestroyed).
		With(reconcile.Wait(deletionInterval, hyperv1.CloudResourcesRemainingReason, "%s", message))
}

// requestCleanup sets the request and the start of the cleanup on the
// HostedControlPlane. The request may be new, and other fields of the
// HostedControlPlane are no longer written during a deletion.
func (r *Reconciler) requestCleanup(ctx context.Context, s *scope) error {
	if s.hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == annotationTrue && s.hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == annotationTrue {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		hyperv1.CleanupCloudResourcesAnnotation: annotationTrue, hyperv1.HostedClusterDeletedAnnotation: annotationTrue,
	}}})
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, s.hcp, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("asking HostedControlPlane %s to clean up: %w", s.hcp.Name, err)
	}
	return nil
}

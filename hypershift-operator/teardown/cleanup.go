package teardown

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
func (m *Manager) awaitCleanup(ctx context.Context, c *Cluster) error {
	hc, hcp := c.HostedCluster, c.ControlPlane
	if hc.Annotations[hyperv1.CleanupCloudResourcesAnnotation] != annotationTrue || hcp == nil || !hcp.DeletionTimestamp.IsZero() {
		return nil
	}
	api := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
	if api == nil || api.Reason == hyperv1.NotDeployedReason {
		return nil
	}
	reported := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	if reported != nil && reported.Status == metav1.ConditionTrue || len(hc.Status.LeftBehind) > 0 {
		return nil
	}
	if err := m.requestCleanup(ctx, hcp); err != nil {
		return err
	}
	left := "what carries the tag " + names.ClusterTag(hc.Spec.InfraID)
	if reported != nil {
		left = reported.Message
	}
	legacy, now := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.CloudResourcesDestroyed), m.Clock.Now()
	if c.isOverdue(waitingSince(&hc.Status, hyperv1.WaitForCloudResourceCleanup, legacy, now), now) {
		why := "the hosted cluster has not removed everything that it made in the cloud"
		if api.Status != metav1.ConditionTrue {
			why = "the hosted API server does not answer (" + api.Message + ")"
		}
		return m.recordLeft(ctx, c, nil, why, hyperv1.LeftBehindResource{Service: serviceAny, ID: left, Reason: hyperv1.CloudResourcesRemainingReason})
	}
	message := fmt.Sprintf("waiting for the hosted cluster to remove what it made in the cloud: %s; what is there after %s is left behind", left, c.orphanAfter())
	return reconcile.Unverified(hyperv1.CloudResourcesRemainingReason, "%s", message).About(hyperv1.CloudResourcesDestroyed).
		With(reconcile.Wait(deletionInterval, hyperv1.CloudResourcesRemainingReason, "%s", message))
}

// requestCleanup sets the request and the start of the cleanup on the
// HostedControlPlane. The request may be new, and other fields of the
// HostedControlPlane are no longer written during a deletion.
func (m *Manager) requestCleanup(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	if hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == annotationTrue && hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == annotationTrue {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		hyperv1.CleanupCloudResourcesAnnotation: annotationTrue, hyperv1.HostedClusterDeletedAnnotation: annotationTrue,
	}}})
	if err != nil {
		return err
	}
	if err := m.Client.Patch(ctx, hcp, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("requesting the cleanup from HostedControlPlane %s: %w", hcp.Name, err)
	}
	return nil
}

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

const yes = "true"

// awaitCleanup waits, if the user wants that, for the hosted cluster to remove
// what it made in the cloud by itself. It can as long as its API server runs,
// and if it never ran there is nothing. Who waits in vain is told what is left.
func (r *Reconciler) awaitCleanup(ctx context.Context, s *scope) error {
	if s.hc.Annotations[hyperv1.CleanupCloudResourcesAnnotation] != yes || s.hcp == nil || !s.hcp.DeletionTimestamp.IsZero() {
		return nil
	}
	api := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
	if api == nil || api.Reason == hyperv1.NotDeployedReason {
		return nil
	}
	said := meta.FindStatusCondition(s.hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	was := meta.FindStatusCondition(s.hc.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	if said != nil && said.Status == metav1.ConditionTrue || leftBehind(was) {
		return nil
	}
	if err := r.askForCleanup(ctx, s); err != nil {
		return err
	}
	left := "what carries the tag " + names.ClusterTag(s.hc.Spec.InfraID)
	if said != nil {
		left = said.Message
	}
	if was != nil && r.longAgo(s, was.LastTransitionTime.Time) {
		why := "the hosted cluster has not removed everything that it made in the cloud"
		if api.Status != metav1.ConditionTrue {
			why = "the hosted API server does not answer (" + api.Message + ")"
		}
		return r.leave(ctx, s, nil, why, left)
	}
	message := fmt.Sprintf("waiting for the hosted cluster to remove what it made in the cloud: %s; what is there after %s is left behind", left, giveUpAfter(s))
	return reconcile.Unverified(hyperv1.CloudResourcesRemainingReason, "%s", message).About(hyperv1.CloudResourcesDestroyed).
		With(reconcile.Wait(deletionPause, hyperv1.CloudResourcesRemainingReason, "%s", message))
}

// askForCleanup hands the wish on, and says that now is the time: a living
// cluster may have had the wish all along. The user may have had it only now,
// when nothing else of the HostedControlPlane is written any more.
func (r *Reconciler) askForCleanup(ctx context.Context, s *scope) error {
	if s.hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == yes && s.hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == yes {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		hyperv1.CleanupCloudResourcesAnnotation: yes, hyperv1.HostedClusterDeletedAnnotation: yes,
	}}})
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, s.hcp, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("asking HostedControlPlane %s to clean up: %w", s.hcp.Name, err)
	}
	return nil
}

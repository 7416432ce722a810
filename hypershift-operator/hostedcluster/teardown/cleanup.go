package teardown

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	annotationTrue  = "true"
	annotationFalse = "false"
)

// cleanUpWithNodes waits for the hosted cluster to delete the cloud resources that it created while its nodes run: the
// controllers of volumes, and some of load balancers, run on them. Without an API server it does not wait; machines
// are deleted without it.
func (m *Manager) cleanUpWithNodes(ctx context.Context, c *Cluster) error {
	if c.ControlPlane == nil || !meta.IsStatusConditionTrue(c.ControlPlane.Status.Conditions, hyperv1.KubeAPIServerAvailable) {
		return nil
	}
	return m.awaitCleanup(ctx, c)
}

// awaitCleanup waits until the hosted cluster has deleted the cloud resources that it created, unless the user wants to
// keep them. It needs its API server for that; if that never ran, there are no such resources. The wait is limited, and
// remaining resources are reported. It does not wait for resources that no controller deletes.
func (m *Manager) awaitCleanup(ctx context.Context, c *Cluster) error {
	hc, hcp := c.HostedCluster, c.ControlPlane
	if hc.IsHandedOver() || !mayHaveCloudResources(hcp) {
		return nil
	}
	remove := annotationTrue
	if keepsCloudResources(hc, hcp) {
		remove = annotationFalse
	}
	if remove == annotationFalse && !hasResourcesOfOurs(hcp) {
		if hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] != annotationTrue {
			return nil
		}
		return m.requestCleanup(ctx, hcp, annotationFalse) // the user has changed their mind
	}
	reported := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	if reported != nil && reported.Status == metav1.ConditionTrue {
		return nil
	}
	if err := m.requestCleanup(ctx, hcp, remove); err != nil { // nodes on demand and the ingress controller are removed in any case
		return err
	}
	resources := remainingResources(hc, hcp, reported)
	if isRecorded(&hc.Status, resources) {
		return nil
	}
	now := m.Clock.Now()
	switch {
	case reported != nil && reported.Reason == hyperv1.ControllerNotRunningReason:
		return m.recordLeft(ctx, c, nil, "their controllers do not run in the hosted cluster", resources...)
	case c.isOverdue(waitingSince(&hc.Status, hyperv1.WaitForCloudResourceCleanup, now), now):
		return m.recordLeft(ctx, c, nil, cleanupProblem(hcp), resources...)
	}
	remaining := describeAll(resources)
	if reported != nil {
		remaining = reported.Message
	}
	message := fmt.Sprintf("waiting for the hosted cluster to remove what it made in the cloud: %s; what is there after %s is left behind", remaining, c.orphanAfter())
	if c.OperatorProblem != "" {
		message += "; " + c.OperatorProblem
	}
	return reconcile.Unverified(hyperv1.CloudResourcesRemainingReason, "%s", message).About(hyperv1.CloudResourcesDestroyed).
		With(reconcile.Wait(deletionInterval, hyperv1.CloudResourcesRemainingReason, "%s", message))
}

// mayHaveCloudResources reports whether the hosted cluster may have cloud resources, and can still be asked to remove them.
func mayHaveCloudResources(hcp *hyperv1.HostedControlPlane) bool {
	return hcp != nil && hcp.DeletionTimestamp.IsZero() && hcp.Spec.Platform.Type == hyperv1.AWSPlatform && hcp.Status.Initialized
}

// hasResourcesOfOurs reports whether the cluster may have cloud resources that are removed even if the user keeps others: nodes on demand, and the
// load balancer of the ingress controller.
func hasResourcesOfOurs(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Spec.AutoNode.Karpenter() != nil || hcp.MayHaveIngress()
}

// keepsCloudResources reports whether the user wants to keep them. The HostedControlPlane keeps the annotation of
// a deleted HostedCluster.
func keepsCloudResources(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane) bool {
	if value := hc.Annotations[hyperv1.CleanupCloudResourcesAnnotation]; value != "" {
		hcp = &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{hyperv1.CleanupCloudResourcesAnnotation: value}}}
	}
	return hcp.KeepsCloudResources()
}

// passOnWish writes to the HostedControlPlane whether the user keeps cloud resources: its operator deletes a bucket. During a deletion, nothing else
// writes what has changed in the HostedCluster.
func (m *Manager) passOnWish(ctx context.Context, c *Cluster) error {
	keeps := keepsCloudResources(c.HostedCluster, c.ControlPlane)
	if keeps == c.ControlPlane.KeepsCloudResources() {
		return nil
	}
	patch := mergepatch.Annotations(map[string]string{hyperv1.CleanupCloudResourcesAnnotation: strconv.FormatBool(!keeps)})
	if err := m.Client.Patch(ctx, c.ControlPlane, patch); err != nil {
		return fmt.Errorf("changing what HostedControlPlane %s keeps: %w", c.ControlPlane.Name, err)
	}
	return nil
}

// cleanupProblem explains why resources remain after the whole period.
func cleanupProblem(hcp *hyperv1.HostedControlPlane) string {
	api := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable)
	if api == nil || api.Status == metav1.ConditionTrue {
		return "the hosted cluster has not removed everything that it made in the cloud"
	}
	return "the hosted API server does not answer (" + api.Message + ")"
}

// remainingResources returns the resources that the control-plane-operator lists, or how to find them.
func remainingResources(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, reported *metav1.Condition) []hyperv1.LeftBehindResource {
	resources := slices.Clone(hcp.Status.RemainingCloudResources)
	if len(resources) == 0 {
		id := "what carries the tag " + names.ClusterTag(hc.Spec.InfraID)
		if reported != nil { // by a control-plane-operator that does not list them
			id = reported.Message
		}
		resources = []hyperv1.LeftBehindResource{{Service: serviceAny, ID: id}}
	}
	for i := range resources {
		resources[i].Reason = cmp.Or(resources[i].Reason, hyperv1.CloudResourcesRemainingReason)
	}
	return resources
}

// requestCleanup sets the request and the start of the cleanup on the
// HostedControlPlane. The request may be new, and other fields of the
// HostedControlPlane are no longer written during a deletion.
func (m *Manager) requestCleanup(ctx context.Context, hcp *hyperv1.HostedControlPlane, value string) error {
	if hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == value && hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == annotationTrue {
		return nil
	}
	patch := mergepatch.Annotations(map[string]string{
		hyperv1.CleanupCloudResourcesAnnotation: value, hyperv1.HostedClusterDeletedAnnotation: annotationTrue,
	})
	if err := m.Client.Patch(ctx, hcp, patch); err != nil {
		return fmt.Errorf("requesting the cleanup from HostedControlPlane %s: %w", hcp.Name, err)
	}
	return nil
}

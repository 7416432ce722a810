package teardown

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// wake starts the control plane of a sleeping cluster that has to remove its cloud resources, and waits for its API server, because
// the next steps do not wait for one. The last backup needs etcd, and waits for it by itself. Machines are deleted without it. The phase stays Waking until the HostedControlPlane is
// deleted: NodePools create no machines then. The time of this wait counts for the cleanup.
func (m *Manager) wake(ctx context.Context, c *Cluster) error {
	hc, hcp := c.HostedCluster, c.ControlPlane
	if hc.IsHandedOver() {
		return nil
	}
	phase := hcp.SleepPhase()
	asleep := phase == hyperv1.SleepPhaseAsleep || phase == hyperv1.SleepPhaseWaking
	cleanup := mayHaveCloudResources(hcp) && (!keepsCloudResources(hc, hcp) || hasResourcesOfOurs(hcp))
	if !asleep || !cleanup && !slices.Contains(hc.Finalizers, hyperv1.LastBackupFinalizer) {
		return nil
	}
	if phase == hyperv1.SleepPhaseAsleep {
		patch := mergepatch.Annotations(map[string]string{hyperv1.SleepPhaseAnnotation: string(hyperv1.SleepPhaseWaking)})
		if err := m.Client.Patch(ctx, hcp, patch); err != nil {
			return fmt.Errorf("waking HostedControlPlane %s: %w", hcp.Name, err)
		}
	}
	if !cleanup {
		return nil
	}
	now := m.Clock.Now()
	if meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable) || c.isOverdue(waitingSince(&hc.Status, hyperv1.WaitForCloudResourceCleanup, now), now) {
		return nil
	}
	return reconcile.Wait(deletionInterval, hyperv1.WakingReason, "waiting for the API server of the sleeping cluster, which has to remove what it made in the cloud%s", c.blockedDetail())
}

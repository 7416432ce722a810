package teardown

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// stopInterval is the interval of checks whether the controllers of machines have stopped.
const stopInterval = 2 * time.Second

// handOver prepares the deletion of a cluster that another management cluster has taken over: the control-plane-operator gets the annotation,
// and so leaves the security group of the workers, and the controllers that would terminate instances stop before the first Machine is deleted.
func (m *Manager) handOver(ctx context.Context, c *Cluster) error {
	if !c.HostedCluster.IsHandedOver() {
		return nil
	}
	if hcp := c.ControlPlane; hcp != nil && !hcp.IsHandedOver() {
		patch := mergepatch.Annotations(map[string]string{hyperv1.HandedOverAnnotation: annotationTrue})
		if err := m.Client.Patch(ctx, hcp, patch); err != nil {
			return fmt.Errorf("annotating HostedControlPlane %s: %w", hcp.Name, err)
		}
	}
	if m.ClusterAPI == nil || c.Namespace == nil {
		return nil
	}
	if err := m.ClusterAPI.RemoveControllers(ctx, c.Plane); err != nil {
		return err
	}
	var pods corev1.PodList
	if err := m.Reader.List(ctx, &pods, client.InNamespace(c.Plane.Name), client.MatchingLabelsSelector{Selector: clusterapi.ControllerPods()}); err != nil {
		return fmt.Errorf("listing the pods of Cluster API: %w", err)
	}
	if len(pods.Items) > 0 {
		return reconcile.Wait(stopInterval, hyperv1.DeletingReason, "waiting until the controllers of machines, which are handed over, have stopped")
	}
	return nil
}

// leaveNodePools deletes the node pools, and leaves their machines to the management cluster that has taken the cluster over.
func (m *Manager) leaveNodePools(ctx context.Context, c *Cluster) error {
	var remaining []string
	for i := range c.NodePools {
		remaining = append(remaining, c.NodePools[i].Name)
		if err := m.delete(ctx, &c.NodePools[i]); err != nil {
			return err
		}
	}
	machines, err := m.forgetMachines(ctx, c)
	if err != nil {
		return err
	}
	if remaining = append(remaining, machines...); len(remaining) > 0 {
		return reconcile.Wait(stopInterval, hyperv1.DeletingReason, "waiting for the objects of machines, which are handed over, to be deleted: %s", strings.Join(remaining, ", "))
	}
	return nil
}

// forgetMachines deletes the objects of machines, and returns those that are left.
func (m *Manager) forgetMachines(ctx context.Context, c *Cluster) ([]string, error) {
	if m.ClusterAPI == nil || c.Namespace == nil {
		return nil, nil
	}
	if err := m.ClusterAPI.Forget(ctx, c.Plane); err != nil {
		return nil, err
	}
	return m.ClusterAPI.Machines(ctx, c.Plane)
}

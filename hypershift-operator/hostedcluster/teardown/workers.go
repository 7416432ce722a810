package teardown

import (
	"context"
	"strings"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deleteNodePools deletes the workers first: they need the endpoint, and their
// machines need the credentials.
func (m *Manager) deleteNodePools(ctx context.Context, c *Cluster) error {
	if c.HostedCluster.IsHandedOver() {
		return m.leaveNodePools(ctx, c)
	}
	if len(c.NodePools) == 0 {
		return nil
	}
	if m.ClusterAPI != nil {
		// Cluster API deletes no machine while it is paused.
		if err := m.ClusterAPI.Pause(ctx, c.Machines); err != nil {
			return err
		}
	}
	var remaining []string
	for i := range c.NodePools {
		remaining = append(remaining, c.NodePools[i].Name)
		if err := m.delete(ctx, &c.NodePools[i]); err != nil {
			return err
		}
	}
	if err := m.orphanMachines(ctx, c); err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for the machines of node pools %s to be deleted%s", strings.Join(remaining, ", "), c.retainMachineControllers(ctx))
}

// deleteMachines waits for the last machine, and deletes those that their node pool has
// left: a user may have removed its finalizer.
func (m *Manager) deleteMachines(ctx context.Context, c *Cluster) error {
	if m.ClusterAPI == nil || c.Namespace == nil || c.HostedCluster.IsHandedOver() {
		return nil
	}
	machines, err := m.ClusterAPI.Machines(ctx, c.Plane)
	if err != nil || len(machines) == 0 {
		return err
	}
	if err := m.orphanMachines(ctx, c); err != nil {
		return err
	}
	if err := m.ClusterAPI.DeleteMachines(ctx, c.Plane); err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for %s to be deleted%s", strings.Join(machines, ", "), c.retainMachineControllers(ctx))
}

// orphanMachines removes the finalizers of machines that no controller can delete any more, and records their instances.
func (m *Manager) orphanMachines(ctx context.Context, c *Cluster) error {
	now := m.Clock.Now()
	reason := c.unrecoverable(now)
	if reason == "" || m.ClusterAPI == nil {
		return nil
	}
	return m.ClusterAPI.OrphanMachines(ctx, c.Plane, c.namespaceLost(now), func(machine *infrav1.AWSMachine, instance string) error {
		return m.recordLeft(ctx, c, machine, reason, hyperv1.LeftBehindResource{Service: serviceEC2, Type: "EC2 instance", ID: instance})
	})
}

// deleteCluster deletes the objects of Cluster API when the machines and the
// control plane are deleted.
func (m *Manager) deleteCluster(ctx context.Context, c *Cluster) error {
	if m.ClusterAPI == nil || c.Namespace == nil {
		return nil
	}
	deleted, remaining, err := m.ClusterAPI.Delete(ctx, c.Machines)
	if deleted || err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for %s to be deleted", strings.Join(remaining, " and "))
}

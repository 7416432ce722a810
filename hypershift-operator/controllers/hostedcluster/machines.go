package hostedcluster

import (
	"context"
	"strings"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// machinesCluster is what package clusterapi needs to know.
func (s *scope) machinesCluster() clusterapi.Cluster {
	return clusterapi.Cluster{Plane: s.plane, InfraID: s.hc.Spec.InfraID, AWS: s.aws(), Paused: s.machinesPaused(), Object: s.cluster, ControlPlane: s.hcp}
}

// podSettings are those of every pod that this operator runs for the control plane.
func (s *scope) podSettings() controlplane.PodSettings {
	return controlplane.PodSettings{
		Labels: s.hc.Spec.Labels, NodeSelector: s.hc.Spec.NodeSelector, Tolerations: s.hc.Spec.Tolerations,
		PriorityClass: priorityClass(s.hc), Annotations: s.podAnnotations(), TrustBundle: s.trust != "", MemoryFactor: s.memoryFactor,
	}
}

// machinesPaused reports whether Cluster API must not change machines. A pause does
// not stop the deletion of a cluster or of a node pool.
func (s *scope) machinesPaused() bool {
	if !s.paused || s.deleting() {
		return false
	}
	for i := range s.pools {
		if !s.pools[i].DeletionTimestamp.IsZero() {
			return false
		}
	}
	return true
}

// ensureCluster presents the cluster to Cluster API.
func (r *Reconciler) ensureCluster(ctx context.Context, s *scope) error {
	remaining, err := r.capi.Ensure(ctx, s.machinesCluster())
	if err != nil {
		return err
	}
	if len(remaining) > 0 {
		return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "somebody has deleted %s: it is made again when no machine is left, so delete the node pools", strings.Join(remaining, " and "))
	}
	return nil
}

// ensureWorkers runs Cluster API and its AWS provider while the cluster has node
// pools. A node pool exists until its machines are deleted, unless a user has
// removed its finalizer.
func (r *Reconciler) ensureWorkers(ctx context.Context, s *scope) error {
	if !s.workers || s.aws() == nil {
		return r.capi.RemoveControllers(ctx, s.plane)
	}
	if s.cluster == nil {
		// The next reconcile sets the owner of the objects of the Cluster before Cluster
		// API expects it; see clusterapi.Owner.
		return nil
	}
	core, err := r.componentImage(ctx, s, r.ClusterAPIImage, "cluster-api-image", names.ClusterAPI, "cluster-capi-controllers")
	if err != nil {
		return err
	}
	provider, err := r.componentImage(ctx, s, r.CAPIProviderImage, "capi-provider-aws-image", "cluster-api-provider-aws", "aws-cluster-api-controllers")
	if err != nil {
		return err
	}
	minter, err := r.operatorImage(s)
	if err != nil {
		return err
	}
	return r.capi.EnsureControllers(ctx, s.machinesCluster(), clusterapi.Controllers{
		ClusterAPI: core, Provider: provider, TokenMinter: minter, AWSEndpoints: r.AWSEndpoints,
		Pods: s.podSettings(), IssuerURL: s.hc.Spec.IssuerURL, NamespaceUID: s.namespace.UID,
	})
}

// pauseMachines sets the pause of Cluster API.
func (r *Reconciler) pauseMachines(ctx context.Context, s *scope) error {
	if r.missing != "" {
		return nil
	}
	return r.capi.Pause(ctx, s.machinesCluster())
}

// deleteMachines waits for the last machine, and deletes those that their node pool has
// left: a user may have removed its finalizer.
func (r *Reconciler) deleteMachines(ctx context.Context, s *scope) error {
	if r.missing != "" || s.namespace == nil {
		return nil
	}
	machines, err := r.capi.Machines(ctx, s.plane)
	if err != nil || len(machines) == 0 {
		return err
	}
	if err := r.orphanMachines(ctx, s); err != nil {
		return err
	}
	if err := r.capi.DeleteMachines(ctx, s.plane); err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for %s to go%s", strings.Join(machines, ", "), r.retainWorkers(ctx, s))
}

// orphanMachines removes the finalizers of machines that nothing can delete any
// more, and records their instances.
func (r *Reconciler) orphanMachines(ctx context.Context, s *scope) error {
	why := r.unrecoverable(s)
	if why == "" || r.missing != "" {
		return nil
	}
	return r.capi.OrphanMachines(ctx, s.plane, r.namespaceLost(s), func(machine *infrav1.AWSMachine, instance string) error {
		return r.recordLeft(ctx, s, machine, why, hyperv1.LeftBehindResource{Service: serviceEC2, Type: "EC2 instance", ID: instance})
	})
}

// deleteCluster deletes the objects of Cluster API when the machines and the
// control plane are deleted.
func (r *Reconciler) deleteCluster(ctx context.Context, s *scope) error {
	if r.missing != "" || s.namespace == nil {
		return nil
	}
	gone, remaining, err := r.capi.Delete(ctx, s.machinesCluster())
	if gone || err != nil {
		return err
	}
	return reconcile.Wait(deletionInterval, hyperv1.DeletingReason, "waiting for %s to go", strings.Join(remaining, " and "))
}

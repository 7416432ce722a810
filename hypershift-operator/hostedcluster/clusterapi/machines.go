package clusterapi

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// machineKinds are the parts of a machine and the kinds that create them, in the order of
// their deletion. The provider's part may be deleted before the others, or after them.
func machineKinds() []client.ObjectList {
	return []client.ObjectList{&infrav1.AWSMachineList{}, &clusterv1.MachineList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineDeploymentList{}}
}

// Machines names everything that is left of the machines of a cluster.
func (m Manager) Machines(ctx context.Context, plane controlplane.Namespace) ([]string, error) {
	var remaining []string
	err := m.each(ctx, plane, machineKinds(), func(obj client.Object) error {
		remaining = append(remaining, KindOf(obj)+" "+obj.GetName())
		return nil
	})
	slices.Sort(remaining)
	return remaining, err
}

// RunningMachines names the Machines of a cluster, and provider's parts without one: each may be an instance.
func (m Manager) RunningMachines(ctx context.Context, plane controlplane.Namespace) ([]string, error) {
	var machines []string
	err := m.each(ctx, plane, []client.ObjectList{&clusterv1.MachineList{}, &infrav1.AWSMachineList{}}, func(obj client.Object) error {
		machines = append(machines, obj.GetName())
		return nil
	})
	slices.Sort(machines)
	return slices.Compact(machines), err
}

// DeleteMachines deletes the machines of node pools that no longer exist.
func (m Manager) DeleteMachines(ctx context.Context, plane controlplane.Namespace) error {
	return m.each(ctx, plane, []client.ObjectList{&clusterv1.MachineDeploymentList{}}, func(obj client.Object) error {
		return reconcile.Delete(ctx, m.Client, obj)
	})
}

// OrphanMachines removes the finalizers of machines that are being deleted and that no controller can
// delete. Unless Cluster API itself is gone, that is true for the provider's part only, and Cluster
// API deletes the rest. record is called for each instance before that, except for terminated
// instances: they no longer exist.
func (m Manager) OrphanMachines(ctx context.Context, plane controlplane.Namespace, clusterAPIGone bool, record func(machine *infrav1.AWSMachine, instance string) error) error {
	kinds := machineKinds()
	if !clusterAPIGone {
		kinds = kinds[:1]
	}
	return m.each(ctx, plane, kinds, func(obj client.Object) error {
		if obj.GetDeletionTimestamp().IsZero() {
			return nil
		}
		if machine, ok := obj.(*infrav1.AWSMachine); ok && machine.Spec.InstanceID != nil && ptr.Deref(machine.Status.InstanceState, "") != infrav1.InstanceStateTerminated {
			if err := record(machine, *machine.Spec.InstanceID); err != nil {
				return err
			}
		}
		return m.release(ctx, obj)
	})
}

// Forget deletes the objects of machines and leaves the machines themselves. Cluster API must not run.
func (m Manager) Forget(ctx context.Context, plane controlplane.Namespace) error {
	kinds := append([]client.ObjectList{&clusterv1.MachineHealthCheckList{}}, machineKinds()...)
	return m.each(ctx, plane, kinds, func(obj client.Object) error {
		if obj.GetDeletionTimestamp().IsZero() {
			return reconcile.Delete(ctx, m.Client, obj)
		}
		return m.release(ctx, obj)
	})
}

// release removes all finalizers of an object that is being deleted.
func (m Manager) release(ctx context.Context, obj client.Object) error {
	for _, finalizer := range slices.Clone(obj.GetFinalizers()) {
		if err := reconcile.RemoveFinalizer(ctx, m.Client, obj, finalizer); err != nil {
			return fmt.Errorf("orphaning %s %s: %w", KindOf(obj), obj.GetName(), err)
		}
	}
	return nil
}

func (m Manager) each(ctx context.Context, plane controlplane.Namespace, kinds []client.ObjectList, do func(client.Object) error) error {
	for _, list := range kinds {
		if err := m.Client.List(ctx, list, client.InNamespace(plane.Name)); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error { return do(item.(client.Object)) }); err != nil {
			return err
		}
	}
	return nil
}

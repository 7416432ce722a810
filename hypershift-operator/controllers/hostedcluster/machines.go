package hostedcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deleteMachines waits for the last machine, and takes away those whose node
// pool went without them: a user may have taken its finalizer off.
func (r *Reconciler) deleteMachines(ctx context.Context, s *scope) error {
	if r.missing != "" || s.namespace == nil {
		return nil
	}
	machines, err := r.machines(ctx, s)
	if err != nil || len(machines) == 0 {
		return err
	}
	if err := r.giveUpMachines(ctx, s); err != nil {
		return err
	}
	err = r.eachMachine(ctx, s, []client.ObjectList{&clusterv1.MachineDeploymentList{}}, func(obj client.Object) error { return r.delete(ctx, obj) })
	if err != nil {
		return err
	}
	return reconcile.Wait(deletionPause, hyperv1.DeletingReason, "waiting for %s to go%s", strings.Join(machines, ", "), r.keepWorkers(ctx, s))
}

// machineKinds are what a machine consists of and what makes it, the last to go
// first. The provider's part may be gone before the rest, or after it.
func machineKinds() []client.ObjectList {
	return []client.ObjectList{&infrav1.AWSMachineList{}, &clusterv1.MachineList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineDeploymentList{}}
}

// machines names all that is left of the machines of the cluster.
func (r *Reconciler) machines(ctx context.Context, s *scope) ([]string, error) {
	var left []string
	err := r.eachMachine(ctx, s, machineKinds(), func(obj client.Object) error {
		left = append(left, kindOf(obj)+" "+obj.GetName())
		return nil
	})
	slices.Sort(left)
	return left, err
}

func (r *Reconciler) eachMachine(ctx context.Context, s *scope, kinds []client.ObjectList, do func(client.Object) error) error {
	for _, list := range kinds {
		if err := r.Client.List(ctx, list, client.InNamespace(s.controlPlane)); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error { return do(item.(client.Object)) }); err != nil {
			return err
		}
	}
	return nil
}

// giveUpMachines lets go of machines that nobody can take away any more, and
// names the instances that stay behind in AWS.
func (r *Reconciler) giveUpMachines(ctx context.Context, s *scope) error {
	why := r.hopeless(s)
	if why == "" || r.missing != "" {
		return nil
	}
	kinds := machineKinds()
	if !r.namespaceLost(s) {
		kinds = kinds[:1] // Cluster API is there, and does the rest
	}
	return r.eachMachine(ctx, s, kinds, func(obj client.Object) error { return r.giveUpMachine(ctx, s, obj, why) })
}

func (r *Reconciler) giveUpMachine(ctx context.Context, s *scope, obj client.Object, why string) error {
	if obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if m, ok := obj.(*infrav1.AWSMachine); ok && m.Spec.InstanceID != nil {
		if err := r.leave(ctx, s, m, why, "EC2 instance "+*m.Spec.InstanceID); err != nil {
			return err
		}
	}
	for _, finalizer := range slices.Clone(obj.GetFinalizers()) {
		if err := reconcile.RemoveFinalizer(ctx, r.Client, obj, finalizer); err != nil {
			return fmt.Errorf("giving up on %s %s: %w", kindOf(obj), obj.GetName(), err)
		}
	}
	return nil
}

// clusterAPIKinds are those that this controller needs of Cluster API and of its provider.
func clusterAPIKinds() []client.Object {
	return []client.Object{
		&clusterv1.Cluster{}, &clusterv1.MachineDeployment{}, &clusterv1.MachineSet{}, &clusterv1.Machine{}, &infrav1.AWSCluster{}, &infrav1.AWSMachine{},
	}
}

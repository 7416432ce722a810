package hostedcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/patch"
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
	var deployments clusterv1.MachineDeploymentList
	if err := r.Client.List(ctx, &deployments, client.InNamespace(s.controlPlane)); err != nil {
		return fmt.Errorf("listing machine deployments: %w", err)
	}
	for i := range deployments.Items {
		if err := r.delete(ctx, &deployments.Items[i]); err != nil {
			return err
		}
	}
	return flow.Wait(deletionPause, hyperv1.DeletingReason, "waiting for machines to go: %s", strings.Join(machines, ", "))
}

// machines names the machines of the cluster, as Cluster API and as AWS know
// them: either may be the last to go.
func (r *Reconciler) machines(ctx context.Context, s *scope) ([]string, error) {
	var found []string
	for _, list := range []client.ObjectList{&clusterv1.MachineList{}, &infrav1.AWSMachineList{}} {
		if err := r.Client.List(ctx, list, client.InNamespace(s.controlPlane)); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			found = append(found, item.(client.Object).GetName())
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// giveUpMachines lets go of machines that nobody can take away any more, and
// names the instances that stay behind in AWS.
func (r *Reconciler) giveUpMachines(ctx context.Context, s *scope) error {
	why := r.hopeless(s)
	if why == "" || r.missing != "" {
		return nil
	}
	kinds := []client.ObjectList{&infrav1.AWSMachineList{}}
	if r.namespaceLost(s) { // and Cluster API with it
		kinds = append(kinds, &clusterv1.MachineList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineDeploymentList{})
	}
	for _, list := range kinds {
		if err := r.Client.List(ctx, list, client.InNamespace(s.controlPlane)); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error { return r.giveUpMachine(ctx, s, item.(client.Object), why) })
		if err != nil {
			return err
		}
	}
	return nil
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
		if err := patch.RemoveFinalizer(ctx, r.Client, obj, finalizer); err != nil {
			return fmt.Errorf("giving up on %s %s: %w", kindOf(obj), obj.GetName(), err)
		}
	}
	return nil
}

// missingKinds names the kinds of Cluster API that the management cluster does
// not have. To watch one of them would stop this operator.
func missingKinds(mapper meta.RESTMapper) string {
	var missing []string
	for _, gvk := range []schema.GroupVersionKind{
		clusterv1.GroupVersion.WithKind("Cluster"), clusterv1.GroupVersion.WithKind("MachineDeployment"), clusterv1.GroupVersion.WithKind("Machine"),
		infrav1.GroupVersion.WithKind("AWSCluster"), infrav1.GroupVersion.WithKind("AWSMachine"),
	} {
		if _, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) {
			missing = append(missing, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
		}
	}
	return strings.Join(missing, ", ")
}

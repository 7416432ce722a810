package nodepool

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// deletionPause is the retry interval during deletion. The deleted objects are watched; the Deployment of Cluster API is not.
const deletionPause = 30 * time.Second

// deleteDeployment stops the creation and repair of machines, before the objects that they are created from are deleted.
func (r *Reconciler) deleteDeployment(ctx context.Context, s *scope) error {
	if err := r.refreshChildren(ctx, s); err != nil {
		return err
	}
	if s.healthCheck != nil {
		if err := r.delete(ctx, s.healthCheck); err != nil {
			return err
		}
	}
	if s.deployment == nil {
		return nil
	}
	if err := r.delete(ctx, s.deployment); err != nil {
		return err
	}
	if err := r.releaseUnmanaged(ctx, s); err != nil {
		return err
	}
	again, err := r.checkInstances(ctx, s)
	if err != nil {
		return err
	}
	return reconcile.Wait(again, hyperv1.NodePoolMachinesGoReason, "%s", s.leftWords())
}

// refreshChildren reads past the cache if the cache has nothing to delete: an object that was just created may be missing in
// it.
func (r *Reconciler) refreshChildren(ctx context.Context, s *scope) error {
	if s.deployment != nil || s.remaining() > 0 {
		return nil
	}
	return gatherChildren(ctx, r.Reader, s)
}

// remaining counts the Machines, or the AWSMachines if there are more.
func (s *scope) remaining() int { return max(len(s.machines), len(s.awsMachines)) }

// releaseUnmanaged removes the finalizers of a MachineDeployment without machines when Cluster API is not deployed. These
// finalizers protect machines, and there are none.
func (r *Reconciler) releaseUnmanaged(ctx context.Context, s *scope) error {
	if s.remaining() > 0 {
		return nil
	}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: names.ClusterAPI}, &appsv1.Deployment{})
	if err == nil {
		return nil // Cluster API removes them
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("looking for Cluster API in namespace %s: %w", s.controlPlane, err)
	}
	// The cache may not have a Machine that was just created.
	if err := gatherChildren(ctx, r.Reader, s); err != nil || s.remaining() > 0 {
		return err
	}
	for i := range s.machineSets {
		if err := r.delete(ctx, &s.machineSets[i]); err != nil {
			return err
		}
		if err := reconcile.RemoveFinalizer(ctx, r.Client, &s.machineSets[i], clusterv1.MachineSetFinalizer); err != nil {
			return err
		}
	}
	if s.deployment == nil {
		return nil
	}
	return reconcile.RemoveFinalizer(ctx, r.Client, s.deployment, clusterv1.MachineDeploymentFinalizer)
}

// deleteMachines deletes the machines that have no owner, and waits until all machines are gone. It removes no finalizer: a
// machine that cannot be checked may be a running instance, which costs money.
func (r *Reconciler) deleteMachines(ctx context.Context, s *scope) error {
	var orphans []client.Object
	for i := range s.machineSets {
		orphans = append(orphans, &s.machineSets[i])
	}
	for i := range s.machines {
		orphans = append(orphans, &s.machines[i])
	}
	for _, m := range s.unowned() {
		orphans = append(orphans, m)
	}
	if err := r.deleteAll(ctx, orphans); err != nil {
		return err
	}
	if s.remaining() > 0 || len(s.machineSets) > 0 {
		again, err := r.checkInstances(ctx, s)
		if err != nil {
			return err
		}
		return reconcile.Wait(again, hyperv1.NodePoolMachinesGoReason, "%s", s.leftWords())
	}
	return nil
}

// unowned returns the AWSMachines without a Machine.
func (s *scope) unowned() (out []*infrav1.AWSMachine) {
	known := map[string]bool{}
	for i := range s.machines {
		known[s.machines[i].Spec.InfrastructureRef.Name] = true
	}
	for i := range s.awsMachines {
		if !known[s.awsMachines[i].Name] {
			out = append(out, &s.awsMachines[i])
		}
	}
	return out
}

// deleteTemplates deletes the objects that machines were created from. The steps before it have read past the cache, so that
// none is missing.
func (r *Reconciler) deleteTemplates(ctx context.Context, s *scope) error {
	configs, err := r.configs(ctx, r.Reader, s)
	if err != nil {
		return err
	}
	var objs []client.Object
	for i := range s.templates {
		objs = append(objs, &s.templates[i])
	}
	for i := range s.bootstraps {
		objs = append(objs, &s.bootstraps[i])
	}
	for i := range configs {
		objs = append(objs, &configs[i])
	}
	return r.deleteAll(ctx, objs)
}

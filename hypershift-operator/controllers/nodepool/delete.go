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

// deletionPause is how soon to look again at what is being deleted. The objects
// are watched; this is for Cluster API's own Deployment, which is not.
const deletionPause = 30 * time.Second

// deleteDeployment stops the making of machines, and of repairs, before anything
// that they are made from goes.
func (r *Reconciler) deleteDeployment(ctx context.Context, s *scope) error {
	if err := r.see(ctx, s); err != nil {
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
	if err := r.releaseUnmade(ctx, s); err != nil {
		return err
	}
	return reconcile.Wait(deletionPause, hyperv1.NodePoolMachinesGoReason, "%s", s.leftWords())
}

// see looks past the cache when that has nothing more to delete: it may not have
// seen yet what was made a moment ago.
func (r *Reconciler) see(ctx context.Context, s *scope) error {
	if s.deployment != nil || s.left() > 0 {
		return nil
	}
	return gatherChildren(ctx, r.Reader, s)
}

// left is how many machines there still are, or instances without one.
func (s *scope) left() int { return max(len(s.machines), len(s.awsMachines)) }

// releaseUnmade lets a MachineDeployment go that made no machine and that nobody
// looks after: Cluster API was never deployed, or was taken away. Its finalizers
// are for machines, and there are none.
func (r *Reconciler) releaseUnmade(ctx context.Context, s *scope) error {
	if s.left() > 0 {
		return nil
	}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: names.ClusterAPI}, &appsv1.Deployment{})
	if err == nil {
		return nil // it does so itself
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("looking for Cluster API in namespace %s: %w", s.controlPlane, err)
	}
	// The cache may lag behind a machine that was made just before.
	if err := gatherChildren(ctx, r.Reader, s); err != nil || s.left() > 0 {
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

// deleteMachines waits for the machines to go, and asks those to that nobody
// owns. It takes no finalizer away: a machine that cannot be looked at may be
// an instance that runs, and costs, for ever.
func (r *Reconciler) deleteMachines(ctx context.Context, s *scope) error {
	var orphans []client.Object
	for i := range s.machineSets {
		orphans = append(orphans, &s.machineSets[i])
	}
	for i := range s.machines {
		orphans = append(orphans, &s.machines[i])
	}
	for _, m := range s.lonely() {
		orphans = append(orphans, m)
	}
	if err := r.deleteAll(ctx, orphans); err != nil {
		return err
	}
	if s.left() > 0 || len(s.machineSets) > 0 {
		return reconcile.Wait(deletionPause, hyperv1.NodePoolMachinesGoReason, "%s", s.leftWords())
	}
	return nil
}

// lonely are the instances whose Machine is gone, or has not been seen.
func (s *scope) lonely() (out []*infrav1.AWSMachine) {
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

// deleteTemplates removes what machines were made from. What there is was looked at
// past the cache: what was not found is not there.
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

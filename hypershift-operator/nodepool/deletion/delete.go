package deletion

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machinestate"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// retryInterval is the retry interval during deletion. The deleted objects are watched; the Deployment of Cluster API is not.
const retryInterval = 30 * time.Second

// Deletion deletes the objects of a pool in order.
type Deletion struct {
	Client client.Client
	// Reader reads past the cache.
	Reader client.Reader
	Clock  clock.PassiveClock
}

// DeleteDeployment stops the creation and repair of machines, before the objects that they are created from are deleted.
func (d Deletion) DeleteDeployment(ctx context.Context, p *objects.Pool) error {
	if err := d.refresh(ctx, p); err != nil {
		return err
	}
	if p.MachineHealthCheck != nil {
		if err := reconcile.Delete(ctx, d.Client, p.MachineHealthCheck); err != nil {
			return err
		}
	}
	if p.MachineDeployment == nil {
		return nil
	}
	if err := reconcile.Delete(ctx, d.Client, p.MachineDeployment); err != nil {
		return err
	}
	if err := d.releaseUnmanaged(ctx, p); err != nil {
		return err
	}
	requeueAfter, err := d.checkInstances(ctx, p)
	if err != nil {
		return err
	}
	return reconcile.Wait(requeueAfter, hyperv1.NodePoolMachinesGoReason, "%s", machinestate.Remaining(p))
}

// refresh reads past the cache if the cache has no object to delete: an object that was just created may be missing in
// it.
func (d Deletion) refresh(ctx context.Context, p *objects.Pool) error {
	if p.MachineDeployment != nil || p.Remaining() > 0 {
		return nil
	}
	return p.Read(ctx, d.Reader)
}

// releaseUnmanaged removes the finalizers of a MachineDeployment without machines when Cluster API is not deployed. These
// finalizers protect machines, and there are none.
func (d Deletion) releaseUnmanaged(ctx context.Context, p *objects.Pool) error {
	if p.Remaining() > 0 {
		return nil
	}
	err := d.Reader.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: names.ClusterAPI}, &appsv1.Deployment{})
	if err == nil {
		return nil // Cluster API removes them
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("getting the Deployment of Cluster API in namespace %s: %w", p.Namespace, err)
	}
	// The cache may not have a Machine that was just created.
	if err := p.Read(ctx, d.Reader); err != nil || p.Remaining() > 0 {
		return err
	}
	for i := range p.MachineSets {
		if err := reconcile.Delete(ctx, d.Client, &p.MachineSets[i]); err != nil {
			return err
		}
		if err := reconcile.RemoveFinalizer(ctx, d.Client, &p.MachineSets[i], clusterv1.MachineSetFinalizer); err != nil {
			return err
		}
	}
	if p.MachineDeployment == nil {
		return nil
	}
	return reconcile.RemoveFinalizer(ctx, d.Client, p.MachineDeployment, clusterv1.MachineDeploymentFinalizer)
}

// DeleteMachines deletes the machines that have no owner, and waits until all machines are gone. It removes no finalizer: a
// machine that cannot be checked may be a running instance, which costs money.
func (d Deletion) DeleteMachines(ctx context.Context, p *objects.Pool) error {
	var orphans []client.Object
	for i := range p.MachineSets {
		orphans = append(orphans, &p.MachineSets[i])
	}
	for i := range p.Machines {
		orphans = append(orphans, &p.Machines[i])
	}
	for _, m := range p.Unowned() {
		orphans = append(orphans, m)
	}
	if err := objects.DeleteAll(ctx, d.Client, orphans); err != nil {
		return err
	}
	if p.Remaining() > 0 || len(p.MachineSets) > 0 {
		requeueAfter, err := d.checkInstances(ctx, p)
		if err != nil {
			return err
		}
		return reconcile.Wait(requeueAfter, hyperv1.NodePoolMachinesGoReason, "%s", machinestate.Remaining(p))
	}
	return nil
}

// DeleteTemplates deletes the objects that machines were created from. The steps before it have read past the cache, so that
// none is missing.
func (d Deletion) DeleteTemplates(ctx context.Context, p *objects.Pool) error {
	configs, err := p.Configs(ctx, d.Reader)
	if err != nil {
		return err
	}
	var objs []client.Object
	for i := range p.Templates {
		objs = append(objs, &p.Templates[i])
	}
	for i := range p.Bootstraps {
		objs = append(objs, &p.Bootstraps[i])
	}
	for i := range configs {
		objs = append(objs, &configs[i])
	}
	return objects.DeleteAll(ctx, d.Client, objs)
}

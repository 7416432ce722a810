package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A Manager manages Cluster API for hosted clusters. It has no state of its own.
type Manager struct {
	Client  client.Client
	Applier *apply.Applier
}

// A Cluster holds the facts about a hosted cluster that the Manager needs.
type Cluster struct {
	Plane   controlplane.Namespace
	InfraID string
	// AWS is nil on other platforms, which have no machines.
	AWS *hyperv1.AWSPlatformSpec
	// Machines is whether there are node pools or machines, and Cluster API runs.
	Machines bool
	// Paused is whether Cluster API must not change machines.
	Paused bool
	// Object is the Cluster that exists, nil for none.
	Object *clusterv1.Cluster
	// ControlPlane is the HostedControlPlane, nil for none.
	ControlPlane *hyperv1.HostedControlPlane
}

// The sets of objects of this package.
const (
	ClusterSet     = "cluster"
	ControllersSet = "cluster-api"
)

// Kinds are those that the API server must serve.
func Kinds() []client.Object {
	return []client.Object{
		&clusterv1.Cluster{}, &clusterv1.MachineDeployment{}, &clusterv1.MachineSet{}, &clusterv1.Machine{}, &infrav1.AWSCluster{}, &infrav1.AWSMachine{},
	}
}

func (c Cluster) set() apply.Set {
	return c.Plane.Set(ClusterSet, &clusterv1.ClusterList{}, &infrav1.AWSClusterList{})
}

// Ensure presents the cluster to Cluster API, and returns the Cluster, as Object is. remaining names objects that are
// being deleted and are created again when no machine is left.
func (m Manager) Ensure(ctx context.Context, c Cluster) (object *clusterv1.Cluster, remaining []string, err error) {
	if c.Object == nil {
		if c.Object, err = m.create(ctx, c); err != nil {
			return nil, nil, err
		}
	}
	if _, err := m.Applier.Apply(ctx, c.set(), desiredCluster(c), desiredAWSCluster(c)); err != nil {
		return nil, nil, err
	}
	if c.Machines {
		if err := m.markReady(ctx, c); err != nil {
			return nil, nil, err
		}
	}
	remaining, err = m.Release(ctx, c)
	return c.Object, remaining, err
}

// create creates the Cluster before the objects that it owns, which then need no second write. It returns nil if the cache does
// not have the Cluster yet: the next reconcile sets the owner.
func (m Manager) create(ctx context.Context, c Cluster) (*clusterv1.Cluster, error) {
	withoutPruning, cluster := c.Plane.Set(ClusterSet), desiredCluster(c)
	if _, err := m.Applier.Apply(ctx, withoutPruning, cluster); err != nil {
		return nil, err
	}
	m.Applier.Await(ctx, withoutPruning, cluster)
	return m.Get(ctx, c)
}

// Get returns the Cluster, nil if it does not exist.
func (m Manager) Get(ctx context.Context, c Cluster) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	err := m.Client.Get(ctx, c.Plane.Key(c.InfraID), cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Cluster %s: %w", c.InfraID, err)
	}
	return cluster, nil
}

func desiredCluster(c Cluster) *clusterv1.Cluster {
	name := c.Plane.Cluster.Name
	cluster := &clusterv1.Cluster{
		ObjectMeta: c.Plane.ObjectMeta(c.InfraID),
		Spec: clusterv1.ClusterSpec{
			Paused:            ptr.To(c.Paused),
			ControlPlaneRef:   clusterv1.ContractVersionedObjectReference{APIGroup: hyperv1.GroupVersion.Group, Kind: "HostedControlPlane", Name: name},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSCluster", Name: name},
		},
	}
	// The finalizer of Cluster API: everything that the Cluster owns is deleted with
	// it, so that it must not be deleted before Cluster API has observed it.
	cluster.Finalizers = []string{clusterv1.ClusterFinalizer}
	if c.ControlPlane != nil {
		at := c.ControlPlane.Status.ControlPlaneEndpoint
		cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: at.Host, Port: at.Port}
	}
	return cluster
}

// desiredAWSCluster describes where the machines are. The provider does not change
// the VPC, but needs the object to delete a machine, so that it stays as long as machines exist.
func desiredAWSCluster(c Cluster) *infrav1.AWSCluster {
	cluster := &infrav1.AWSCluster{
		ObjectMeta: c.Plane.ObjectMeta(c.Plane.Cluster.Name),
		Spec:       infrav1.AWSClusterSpec{Region: c.AWS.Region, AdditionalTags: infrav1.Tags{}},
	}
	cluster.Annotations[clusterv1.ManagedByAnnotation] = "external"
	cluster.Labels = map[string]string{clusterv1.ClusterNameLabel: c.InfraID}
	cluster.Finalizers = []string{hyperv1.HypershiftOperatorFinalizer}
	cluster.OwnerReferences = Owner(c.Object)
	for _, tag := range c.AWS.ResourceTags {
		cluster.Spec.AdditionalTags[tag.Key] = tag.Value
	}
	if c.AWS.CloudProviderConfig != nil {
		cluster.Spec.NetworkSpec.VPC.ID = c.AWS.CloudProviderConfig.VPC
	}
	if c.ControlPlane != nil {
		at := c.ControlPlane.Status.ControlPlaneEndpoint
		cluster.Spec.ControlPlaneEndpoint.Host, cluster.Spec.ControlPlaneEndpoint.Port = at.Host, at.Port
	}
	return cluster
}

// markReady reports in place of the provider that the VPC exists: the provider does not check a VPC that is managed elsewhere.
func (m Manager) markReady(ctx context.Context, c Cluster) error {
	cluster := &infrav1.AWSCluster{}
	err := m.Client.Get(ctx, c.Plane.Key(c.Plane.Cluster.Name), cluster)
	if err != nil || cluster.Status.Ready {
		return client.IgnoreNotFound(err) // the watch reports an object that was just created
	}
	ready := mergepatch.Patch{"status": map[string]any{"ready": true}}
	if err := m.Client.Status().Patch(ctx, cluster, ready); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("setting AWSCluster %s ready: %w", cluster.Name, err)
	}
	return nil
}

// Pause sets whether Cluster API must not change machines.
func (m Manager) Pause(ctx context.Context, c Cluster) error {
	cluster, err := m.Get(ctx, c)
	if err != nil || cluster == nil || ptr.Deref(cluster.Spec.Paused, false) == c.Paused {
		return err
	}
	if err := m.Client.Patch(ctx, cluster, mergepatch.Spec(map[string]any{"paused": c.Paused})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("pausing Cluster %s: %w", cluster.Name, err)
	}
	return nil
}

// Delete deletes the objects after the machines and the control plane. Cluster API has completed its work then, and need not run. remaining
// names objects that still exist; deleted is true when all are deleted.
func (m Manager) Delete(ctx context.Context, c Cluster) (deleted bool, remaining []string, err error) {
	deleted, err = m.Applier.Delete(ctx, c.set())
	if deleted || err != nil {
		return deleted, nil, err
	}
	remaining, err = m.Release(ctx, c)
	return false, remaining, err
}

// Release removes the finalizers of a Cluster and an AWSCluster that are being
// deleted, when no machine needs them any more, and names those that still exist.
func (m Manager) Release(ctx context.Context, c Cluster) (remaining []string, err error) {
	for _, held := range []struct {
		obj             client.Object
		name, finalizer string
	}{
		{&clusterv1.Cluster{}, c.InfraID, clusterv1.ClusterFinalizer},
		{&infrav1.AWSCluster{}, c.Plane.Cluster.Name, hyperv1.HypershiftOperatorFinalizer},
	} {
		err := m.Client.Get(ctx, c.Plane.Key(held.name), held.obj)
		if apierrors.IsNotFound(err) || err == nil && held.obj.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("getting %T %s: %w", held.obj, held.name, err)
		}
		remaining = append(remaining, fmt.Sprintf("%s %s", KindOf(held.obj), held.name))
		machines, err := m.Machines(ctx, c.Plane)
		if err != nil {
			return nil, err
		}
		if len(machines) > 0 || !controllerutil.ContainsFinalizer(held.obj, held.finalizer) {
			continue
		}
		if done, err := m.disown(ctx, c.ControlPlane, held.obj); err != nil || !done {
			return remaining, err
		}
		if err := reconcile.RemoveFinalizer(ctx, m.Client, held.obj, held.finalizer); err != nil {
			return nil, fmt.Errorf("releasing %s %s: %w", KindOf(held.obj), held.name, err)
		}
	}
	return remaining, nil
}

// disown removes an owner that is being deleted from the control plane, which the
// garbage collector would delete as well. done is false after a conflict: the
// change that caused it triggers another reconcile.
func (m Manager) disown(ctx context.Context, hcp *hyperv1.HostedControlPlane, owner client.Object) (done bool, err error) {
	if hcp == nil {
		return true, nil
	}
	kept := slices.DeleteFunc(slices.Clone(hcp.OwnerReferences), func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })
	if len(kept) == len(hcp.OwnerReferences) {
		return true, nil
	}
	changed := hcp.DeepCopy() // other steps use hcp
	err = m.Client.Patch(ctx, changed, mergepatch.Metadata(map[string]any{"resourceVersion": hcp.ResourceVersion, "ownerReferences": kept}))
	if apierrors.IsConflict(err) {
		return false, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("taking HostedControlPlane %s from %s %s: %w", hcp.Name, KindOf(owner), owner.GetName(), err)
	}
	return true, nil
}

// KindOf returns the kind of an object from its Go type.
func KindOf(obj client.Object) string {
	text := fmt.Sprintf("%T", obj)
	return text[strings.LastIndex(text, ".")+1:]
}

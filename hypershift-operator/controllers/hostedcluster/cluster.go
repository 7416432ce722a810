package hostedcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/clusterapi"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func (s *scope) clusterSet() apply.Set {
	return apply.Set{Name: setCluster, Namespace: s.controlPlane, Kinds: []client.ObjectList{&clusterv1.ClusterList{}, &infrav1.AWSClusterList{}}}
}

// ensureCluster shows the cluster to Cluster API: a control plane and a VPC,
// both of which are in other hands.
func (r *Reconciler) ensureCluster(ctx context.Context, s *scope) error {
	if s.aws() == nil {
		return nil
	}
	if _, err := r.apply.Apply(ctx, s.clusterSet(), desiredAWSCluster(s), desiredCluster(s)); err != nil {
		return err
	}
	if err := r.sayProvisioned(ctx, s); err != nil {
		return err
	}
	left, err := r.releaseCluster(ctx, s)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return reconcile.Wait(deletionPause, hyperv1.DeletingReason, "somebody has deleted %s: it is made again when no machine is left, so delete the node pools", strings.Join(left, " and "))
	}
	return nil
}

func desiredCluster(s *scope) *clusterv1.Cluster {
	c := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.controlPlane, Name: s.hc.Spec.InfraID, Annotations: s.ownerAnnotations(),
			// Cluster API's own: what the Cluster owns goes with it, so that it must
			// not go before Cluster API has seen it.
			Finalizers: []string{clusterv1.ClusterFinalizer},
		},
		Spec: clusterv1.ClusterSpec{
			Paused:            ptr.To(s.machinesPaused()),
			ControlPlaneRef:   clusterv1.ContractVersionedObjectReference{APIGroup: hyperv1.GroupVersion.Group, Kind: "HostedControlPlane", Name: s.hc.Name},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSCluster", Name: s.hc.Name},
		},
	}
	if s.hcp != nil {
		at := s.hcp.Status.ControlPlaneEndpoint
		c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: at.Host, Port: at.Port}
	}
	return c
}

// desiredAWSCluster says where the machines are. The provider leaves the VPC
// alone; it needs the object to take a machine away, which is why it stays as
// long as there is one.
func desiredAWSCluster(s *scope) *infrav1.AWSCluster {
	annotations := s.ownerAnnotations()
	annotations[clusterv1.ManagedByAnnotation] = "external"
	aws := s.aws()
	c := &infrav1.AWSCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.controlPlane, Name: s.hc.Name, Annotations: annotations,
			Labels:     map[string]string{clusterv1.ClusterNameLabel: s.hc.Spec.InfraID},
			Finalizers: []string{hyperv1.HypershiftOperatorFinalizer}, OwnerReferences: clusterapi.Owner(s.cluster),
		},
		Spec: infrav1.AWSClusterSpec{Region: aws.Region, AdditionalTags: infrav1.Tags{}},
	}
	for _, tag := range aws.ResourceTags {
		c.Spec.AdditionalTags[tag.Key] = tag.Value
	}
	if aws.CloudProviderConfig != nil {
		c.Spec.NetworkSpec.VPC.ID = aws.CloudProviderConfig.VPC
	}
	if s.hcp != nil {
		c.Spec.ControlPlaneEndpoint.Host, c.Spec.ControlPlaneEndpoint.Port = s.hcp.Status.ControlPlaneEndpoint.Host, s.hcp.Status.ControlPlaneEndpoint.Port
	}
	return c
}

// sayProvisioned says in the provider's place that the VPC is there: it does
// not look at one that is in other hands.
func (r *Reconciler) sayProvisioned(ctx context.Context, s *scope) error {
	c := &infrav1.AWSCluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: s.hc.Name}, c)
	if err != nil || c.Status.Ready {
		return client.IgnoreNotFound(err) // what was just made comes back by its watch
	}
	ready := client.RawPatch(types.MergePatchType, []byte(`{"status":{"ready":true}}`))
	if err := r.Client.Status().Patch(ctx, c, ready); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("saying that AWSCluster %s is ready: %w", c.Name, err)
	}
	return nil
}

// machinesPaused says whether Cluster API is to leave the machines alone. Not
// while some of them have to go: a pause does not stop a deletion.
func (s *scope) machinesPaused() bool {
	if !s.paused || s.dying() {
		return false
	}
	for i := range s.pools {
		if !s.pools[i].DeletionTimestamp.IsZero() {
			return false
		}
	}
	return true
}

// pauseMachines hands the pause on to Cluster API, or the end of it.
func (r *Reconciler) pauseMachines(ctx context.Context, s *scope) error {
	if r.missing != "" {
		return nil
	}
	c := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: s.hc.Spec.InfraID}, c)
	if err != nil || ptr.Deref(c.Spec.Paused, false) == s.machinesPaused() {
		return client.IgnoreNotFound(err)
	}
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"paused": s.machinesPaused()}})
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, c, client.RawPatch(types.MergePatchType, body)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("pausing Cluster %s: %w", c.Name, err)
	}
	return nil
}

// deleteCluster takes the cluster from Cluster API when its machines and its
// control plane are gone. By then there is nothing left that Cluster API would
// have to do, and it may not even be running.
func (r *Reconciler) deleteCluster(ctx context.Context, s *scope) error {
	if r.missing != "" || s.namespace == nil {
		return nil
	}
	gone, err := r.apply.Delete(ctx, s.clusterSet())
	if gone || err != nil {
		return err
	}
	left, err := r.releaseCluster(ctx, s)
	if err != nil {
		return err
	}
	return reconcile.Wait(deletionPause, hyperv1.DeletingReason, "waiting for %s to go", strings.Join(left, " and "))
}

// releaseCluster lets go of a Cluster and an AWSCluster that have been deleted,
// once no machine needs them, and names those that are still there.
func (r *Reconciler) releaseCluster(ctx context.Context, s *scope) (left []string, err error) {
	if r.missing != "" {
		return nil, nil
	}
	for _, held := range []struct {
		obj             client.Object
		name, finalizer string
	}{
		{&clusterv1.Cluster{}, s.hc.Spec.InfraID, clusterv1.ClusterFinalizer},
		{&infrav1.AWSCluster{}, s.hc.Name, hyperv1.HypershiftOperatorFinalizer},
	} {
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: held.name}, held.obj)
		if apierrors.IsNotFound(err) || err == nil && held.obj.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("getting %T %s: %w", held.obj, held.name, err)
		}
		left = append(left, fmt.Sprintf("%s %s", kindOf(held.obj), held.name))
		machines, err := r.machines(ctx, s)
		if err != nil {
			return nil, err
		}
		if len(machines) > 0 || !controllerutil.ContainsFinalizer(held.obj, held.finalizer) {
			continue
		}
		if alone, err := r.disown(ctx, s.hcp, held.obj); err != nil || !alone {
			return left, err
		}
		if err := reconcile.RemoveFinalizer(ctx, r.Client, held.obj, held.finalizer); err != nil {
			return nil, fmt.Errorf("releasing %s %s: %w", kindOf(held.obj), held.name, err)
		}
	}
	return left, nil
}

// disown takes the control plane from an owner that goes, whoever gave it one:
// the garbage collector would have it go along. If somebody changes it meanwhile
// it is not done, and its change brings us back.
func (r *Reconciler) disown(ctx context.Context, hcp *hyperv1.HostedControlPlane, owner client.Object) (done bool, err error) {
	if hcp == nil {
		return true, nil
	}
	kept := slices.DeleteFunc(slices.Clone(hcp.OwnerReferences), func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })
	if len(kept) == len(hcp.OwnerReferences) {
		return true, nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": hcp.ResourceVersion, "ownerReferences": kept}})
	if err != nil {
		return false, err
	}
	alone := hcp.DeepCopy() // other steps read what gather has found
	err = r.Client.Patch(ctx, alone, client.RawPatch(types.MergePatchType, body))
	if apierrors.IsConflict(err) {
		return false, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("taking HostedControlPlane %s from %s %s: %w", hcp.Name, kindOf(owner), owner.GetName(), err)
	}
	return true, nil
}

func kindOf(obj client.Object) string {
	text := fmt.Sprintf("%T", obj)
	return text[strings.LastIndex(text, ".")+1:]
}

package hostedapi

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// playPods says of the workloads of the control plane that all their pods are ready, of the version that is wanted.
func (a *API) playPods(ctx context.Context) error {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	if err := a.management.List(ctx, deployments, client.InNamespace(a.namespace)); err != nil {
		return fmt.Errorf("listing Deployments: %w", err)
	}
	if err := a.management.List(ctx, sets, client.InNamespace(a.namespace)); err != nil {
		return fmt.Errorf("listing StatefulSets: %w", err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		n := ptr.Deref(d.Spec.Replicas, 1)
		if err := play(ctx, a, d, &d.Status, appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		}); err != nil {
			return err
		}
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		n := ptr.Deref(s.Spec.Replicas, 1)
		if err := play(ctx, a, s, &s.Status, appsv1.StatefulSetStatus{
			ObservedGeneration: s.Generation, Replicas: n, CurrentReplicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		}); err != nil {
			return err
		}
	}
	return nil
}

// play writes the status of a workload, if it is one whose pods nobody runs here.
func play[S any](ctx context.Context, a *API, obj client.Object, status *S, well S) error {
	played := func(name string) bool { return name == obj.GetName() }
	if !slices.ContainsFunc(names.RequiredImages, played) || !obj.GetDeletionTimestamp().IsZero() || equality.Semantic.DeepEqual(*status, well) {
		return nil
	}
	before := obj.DeepCopyObject().(client.Object)
	*status = well
	if err := a.management.Status().Patch(ctx, obj, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("playing the pods of %s: %w", obj.GetName(), err)
	}
	return nil
}

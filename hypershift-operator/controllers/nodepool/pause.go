package nodepool

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pauseChildren pauses Cluster API and the cluster autoscaler, and changes nothing else. Broken machines are not replaced
// during a pause.
func (r *Reconciler) pauseChildren(ctx context.Context, s *scope) error {
	off := map[string]any{
		clusterv1.PausedAnnotation: "true",
		// The autoscaler ignores a group without bounds.
		clusterv1.AutoscalerMinSizeAnnotation: nil,
		clusterv1.AutoscalerMaxSizeAnnotation: nil,
	}
	return r.annotateChildren(ctx, s, off)
}

// unpauseChildren resumes Cluster API. It is a step of its own: the annotation is written by a patch, and apply does not
// remove it. Cluster API does not delete a paused MachineDeployment either.
func (r *Reconciler) unpauseChildren(ctx context.Context, s *scope) error {
	return r.annotateChildren(ctx, s, map[string]any{clusterv1.PausedAnnotation: nil})
}

func (r *Reconciler) annotateChildren(ctx context.Context, s *scope, want map[string]any) error {
	var children []client.Object
	if s.deployment != nil {
		children = append(children, s.deployment)
	}
	if s.healthCheck != nil {
		children = append(children, s.healthCheck)
	}
	for _, child := range children {
		if err := r.annotate(ctx, child, want); err != nil {
			return err
		}
	}
	return nil
}

// annotate sets annotations, and removes those with the value nil.
func (r *Reconciler) annotate(ctx context.Context, obj client.Object, want map[string]any) error {
	change := map[string]any{}
	for key, value := range want {
		if have, there := obj.GetAnnotations()[key]; there != (value != nil) || there && have != value {
			change[key] = value
		}
	}
	if len(change) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": change}})
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

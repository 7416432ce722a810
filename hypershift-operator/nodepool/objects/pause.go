package objects

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// Pause pauses Cluster API and the cluster autoscaler, and makes no other change. Broken machines are not replaced during a pause.
func (p *Pool) Pause(ctx context.Context, c client.Client) error {
	return p.annotate(ctx, c, map[string]any{
		clusterv1.PausedAnnotation: "true",
		// The autoscaler ignores a group without bounds.
		clusterv1.AutoscalerMinSizeAnnotation: nil,
		clusterv1.AutoscalerMaxSizeAnnotation: nil,
	})
}

// Unpause resumes Cluster API. Pause writes the annotation by a patch, and apply does not remove it. Cluster API does not delete
// a paused MachineDeployment either.
func (p *Pool) Unpause(ctx context.Context, c client.Client) error {
	return p.annotate(ctx, c, map[string]any{clusterv1.PausedAnnotation: nil})
}

func (p *Pool) annotate(ctx context.Context, c client.Client, annotations map[string]any) error {
	if p.MachineDeployment != nil {
		if err := Annotate(ctx, c, p.MachineDeployment, annotations); err != nil {
			return err
		}
	}
	if p.MachineHealthCheck != nil {
		return Annotate(ctx, c, p.MachineHealthCheck, annotations)
	}
	return nil
}

// Annotate sets annotations, and removes those with the value nil. An object that does not exist is no error.
func Annotate(ctx context.Context, c client.Client, obj client.Object, annotations map[string]any) error {
	change := map[string]any{}
	for key, value := range annotations {
		if current, exists := obj.GetAnnotations()[key]; exists != (value != nil) || exists && current != value {
			change[key] = value
		}
	}
	if len(change) == 0 {
		return nil
	}
	if err := c.Patch(ctx, obj, mergepatch.Annotations(change)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

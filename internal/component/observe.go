package component

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observation is what a workload's own status says of it.
type observation struct {
	live *workload // nil if there is none
	// version is the one that it was last told to run.
	version string
	// available says that enough pods are ready for the component to do its work.
	available bool
	// complete says that all pods are as the workload now has them, and ready.
	complete bool
	// replacing says that some pods are not as the workload now has them.
	replacing bool
	// refused is why pods cannot be made, as far as the workload knows.
	refused string
}

// observe looks at the workload of the component.
func (r *Runner) observe(ctx context.Context, c Component, env *Env) (observation, error) {
	w, err := c.workload(env)
	if err != nil {
		return observation{}, err
	}
	err = r.Client.Get(ctx, client.ObjectKeyFromObject(w), w)
	if apierrors.IsNotFound(err) {
		return observation{}, nil
	}
	if err != nil {
		return observation{}, fmt.Errorf("getting the workload of %s: %w", c.Name, err)
	}
	return judge(w), nil
}

// workload is an empty one, with the kind and the name of the component's.
func (c Component) workload(env *Env) (client.Object, error) {
	files, err := c.files()
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", c.Name, err)
	}
	asset, err := c.decode(files[len(files)-1])
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", c.Name, err)
	}
	var w client.Object = &appsv1.Deployment{}
	if _, ok := asset.(*appsv1.StatefulSet); ok {
		w = &appsv1.StatefulSet{}
	}
	w.SetNamespace(env.HCP.Namespace)
	w.SetName(asset.GetName())
	return w, nil
}

// judge reads the status of a workload. One that has not been looked at since it
// was changed has nothing to say of the change.
func judge(obj client.Object) observation {
	o := observation{live: asWorkload(obj), version: obj.GetAnnotations()[ReleaseAnnotation]}
	wanted := ptr.Deref(*o.live.replicas, 1)
	switch w := obj.(type) {
	case *appsv1.Deployment:
		s := w.Status
		o.replacing = s.ObservedGeneration < w.Generation || s.UpdatedReplicas < wanted || s.Replicas > s.UpdatedReplicas
		o.available = s.AvailableReplicas > 0
		o.complete = !o.replacing && s.AvailableReplicas >= wanted
		o.refused = refusal(s.Conditions)
	case *appsv1.StatefulSet:
		s := w.Status
		o.replacing = s.ObservedGeneration < w.Generation || s.CurrentRevision != s.UpdateRevision
		// Members that vote are of use when most of them are there.
		o.available = s.AvailableReplicas > wanted/2
		o.complete = !o.replacing && s.AvailableReplicas >= wanted
	}
	return o
}

func refusal(conds []appsv1.DeploymentCondition) string {
	for _, c := range conds {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

package component

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observation is the observed state of a workload.
type observation struct {
	live *Workload // nil if it does not exist
	// version is the version that it was last set to.
	version string
	// available is true when enough pods are ready for the component to work.
	available bool
	// complete is true when all pods are up to date and ready.
	complete bool
	// replacing is true when some pods are not up to date.
	replacing bool
	// starting is true when new pods of a Deployment have not been ready yet, and are within its progress deadline.
	starting bool
	// refused is why pods cannot be created, as reported by the workload.
	refused string
}

// observe reads the workload of the component.
func (r *Runner) observe(ctx context.Context, namespace string, c Rendered) (observation, error) {
	if c.Workload == nil {
		return observation{}, c.Err
	}
	w := c.Workload.DeepCopyObject().(client.Object)
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: w.GetName()}, w)
	if apierrors.IsNotFound(err) {
		return observation{}, nil
	}
	if err != nil {
		return observation{}, fmt.Errorf("getting the workload of %s: %w", c.Name, err)
	}
	return evaluate(w), nil
}

// evaluate reads the status of a workload. The status is outdated while its observedGeneration is.
func evaluate(obj client.Object) observation {
	o := observation{live: AsWorkload(obj), version: obj.GetAnnotations()[ReleaseAnnotation]}
	wanted := ptr.Deref(*o.live.Replicas, 1)
	switch w := obj.(type) {
	case *appsv1.Deployment:
		s := w.Status
		o.replacing = s.ObservedGeneration < w.Generation || s.UpdatedReplicas < wanted || s.Replicas > s.UpdatedReplicas
		o.available = s.AvailableReplicas > 0
		o.complete = !o.replacing && s.AvailableReplicas >= wanted
		o.refused = refusal(s.Conditions)
		o.starting = progressing(s.Conditions)
	case *appsv1.StatefulSet:
		s := w.Status
		o.replacing = s.ObservedGeneration < w.Generation || s.CurrentRevision != s.UpdateRevision
		// Voting members are available as long as they have a majority. The minReadySeconds of a StatefulSet space its rollout, and a start does not
		// wait for them.
		o.available = s.ReadyReplicas > wanted/2
		o.complete = !o.replacing && s.ReadyReplicas >= wanted
	}
	return o
}

// observeContainers replaces the readiness of pods by that of the component's own containers: those of others in the same pods may fail.
func (r *Runner) observeContainers(ctx context.Context, p *part) error {
	pods, err := r.podsOf(ctx, p.live)
	if err != nil {
		return err
	}
	n := int32(0)
	for i := range pods {
		if pods[i].DeletionTimestamp.IsZero() && p.readyIn(&pods[i]) {
			n++
		}
	}
	p.available = n > 0
	p.complete = !p.replacing && n >= ptr.Deref(*p.live.Replicas, 1) && p.isIn(containersOf(p.live.Pod()))
	return nil
}

// readyIn reports whether all containers of the component are in the pod, and ready. When all containers of the pod are ready, the pod may
// nevertheless be lost with its node.
func (p *part) readyIn(pod *corev1.Pod) bool {
	if !p.isIn(containersOf(&pod.Spec)) {
		return false
	}
	var some []string
	all := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, s := range all {
		if s.Ready {
			some = append(some, s.Name)
		}
	}
	if len(some) == len(all) {
		return ready(pod)
	}
	return p.isIn(some)
}

// isIn reports whether these are all containers of the component, or more.
func (p *part) isIn(containers []string) bool {
	return !slices.ContainsFunc(p.Containers, func(own string) bool { return !slices.Contains(containers, own) })
}

// progressing reports whether a rollout goes on. Its last reason stays when it has ended.
func progressing(conds []appsv1.DeploymentCondition) bool {
	return slices.ContainsFunc(conds, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionTrue && c.Reason != newReplicaSetAvailable
	})
}

// newReplicaSetAvailable is the reason of a rollout that has ended
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#complete-deployment).
const newReplicaSetAvailable = "NewReplicaSetAvailable"

func refusal(conds []appsv1.DeploymentCondition) string {
	for _, c := range conds {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

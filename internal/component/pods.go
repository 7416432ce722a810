package component

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/events"
)

// slow is the age of an object that is not ready after which its Events are read. Most objects are ready earlier.
const slow = 10 * time.Second

// problem returns why a component does not have all its pods ready.
func (r *Runner) problem(ctx context.Context, p *part) (problem, error) {
	if p.refused != "" {
		return problem{hyperv1.PodsRefusedReason, shortened(p.refused)}, nil
	}
	pods, err := r.podsOf(ctx, p.live)
	if err != nil {
		return problem{}, err
	}
	var all []problem
	for i := range pods {
		pod := &pods[i]
		if !pod.DeletionTimestamp.IsZero() || ready(pod) {
			continue
		}
		t, err := r.podProblem(ctx, pod, p.Containers)
		if err != nil {
			return problem{}, err
		}
		if t.reason != "" {
			all = append(all, p.of(pod, explained(p.Explain, t)))
		}
	}
	if len(all) > 0 {
		return slices.MinFunc(all, func(a, b problem) int { return strings.Compare(a.message, b.message) }), nil
	}
	if len(pods) == 0 && r.old(p.live) {
		return r.latestWarning(ctx, p.live.Object, hyperv1.PodsRefusedReason, "pods cannot be made")
	}
	return problem{}, nil
}

// podsOf returns the pods of a workload. They are only read, so the cache does not copy them.
func (r *Runner) podsOf(ctx context.Context, w *Workload) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(w.GetNamespace()), client.MatchingLabels((*w.Selector).MatchLabels), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", w.GetName(), err)
	}
	return pods.Items, nil
}

// of returns the pod with the statuses of these containers only, or the pod itself without names.
func of(containers []string, pod *corev1.Pod) *corev1.Pod {
	if containers == nil {
		return pod
	}
	pod = pod.DeepCopy()
	foreign := func(s corev1.ContainerStatus) bool { return !slices.Contains(containers, s.Name) }
	pod.Status.InitContainerStatuses = slices.DeleteFunc(pod.Status.InitContainerStatuses, foreign)
	pod.Status.ContainerStatuses = slices.DeleteFunc(pod.Status.ContainerStatuses, foreign)
	return pod
}

// explained replaces the termination message of a program, if the component explains it.
func explained(explain func(words string) (reason, message string), t problem) problem {
	if explain == nil || t.reason != hyperv1.ContainerCrashedReason {
		return t
	}
	if reason, message := explain(t.message); reason != "" {
		return problem{reason, message}
	}
	return t
}

// of adds the name of the failing member. Pods of a Deployment have generated names, which are left out.
func (o observation) of(pod *corev1.Pod, t problem) problem {
	if _, ok := o.live.Object.(*appsv1.StatefulSet); ok {
		t.message = pod.Name + ": " + t.message
	}
	return t
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// podProblem reads the pod's status, with that of these containers only, and, before a container exists, Events.
func (r *Runner) podProblem(ctx context.Context, pod *corev1.Pod, containers []string) (problem, error) {
	t := problemOf(of(containers, pod))
	if t.reason == hyperv1.PodUnschedulableReason {
		claim, err := r.claimProblem(ctx, pod)
		if err != nil || claim.reason != "" {
			return claim, err
		}
		if hasClaim(pod) && !r.old(pod) {
			return problem{}, nil // a new pod cannot be scheduled until its volume exists
		}
	}
	if t.reason != "" || pod.Spec.NodeName == "" || started(pod) || !r.old(pod) {
		return t, nil
	}
	return r.latestWarning(ctx, pod, hyperv1.VolumeNotReadyReason, "containers cannot be made")
}

func hasClaim(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

// started reports whether any container of the pod has started.
func started(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Waiting == nil || s.RestartCount > 0
	})
}

// claimProblem returns why a volume of the pod does not exist, from its claim and the Events of that.
func (r *Runner) claimProblem(ctx context.Context, pod *corev1.Pod) (problem, error) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{}
		err := r.Reader.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName}, claim)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return problem{}, fmt.Errorf("getting volume claim %s: %w", v.PersistentVolumeClaim.ClaimName, err)
		}
		if claim.Status.Phase != corev1.ClaimPending {
			continue
		}
		// A missing storage class is reported in an Event that is no warning.
		warning, err := events.LatestWarning(ctx, r.Reader, claim, "FailedBinding")
		if err != nil || warning != "" {
			return problem{hyperv1.VolumeNotReadyReason, "volume claim " + claim.Name + " gets no volume" + suffixed(warning)}, err
		}
	}
	return problem{}, nil
}

// latestWarning returns the latest warning about an object.
func (r *Runner) latestWarning(ctx context.Context, obj client.Object, reason, what string) (problem, error) {
	warning, err := events.LatestWarning(ctx, r.Reader, obj)
	if err != nil || warning == "" {
		return problem{}, err
	}
	return problem{reason, what + suffixed(warning)}, nil
}

func (r *Runner) old(obj client.Object) bool {
	return r.Clock.Since(obj.GetCreationTimestamp().Time) >= slow
}

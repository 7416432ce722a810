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

// slow is how old something may be that has not come up before its Events are
// read: most are up by then.
const slow = 10 * time.Second

// trouble is why a workload does not have all its pods ready.
func (r *Runner) trouble(ctx context.Context, c Component, o observation) (trouble, error) {
	if o.refused != "" {
		return trouble{hyperv1.PodsRefusedReason, shortened(o.refused)}, nil
	}
	pods := &corev1.PodList{}
	selector := client.MatchingLabels((*o.live.selector).MatchLabels)
	if err := r.Client.List(ctx, pods, client.InNamespace(o.live.GetNamespace()), selector); err != nil {
		return trouble{}, fmt.Errorf("listing the pods of %s: %w", o.live.GetName(), err)
	}
	var all []trouble
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !pod.DeletionTimestamp.IsZero() || ready(pod) {
			continue
		}
		t, err := r.podTrouble(ctx, pod)
		if err != nil {
			return trouble{}, err
		}
		if t.reason != "" {
			all = append(all, o.of(pod, c.explained(t)))
		}
	}
	if len(all) > 0 {
		return slices.MinFunc(all, func(a, b trouble) int { return strings.Compare(a.message, b.message) }), nil
	}
	if len(pods.Items) == 0 && r.old(o.live) {
		return r.said(ctx, o.live.Object, hyperv1.PodsRefusedReason, "pods cannot be made")
	}
	return trouble{}, nil
}

// explained is what a program's end means, if the component knows.
func (c Component) explained(t trouble) trouble {
	if c.Explain == nil || t.reason != hyperv1.ContainerCrashedReason {
		return t
	}
	if reason, message := c.Explain(t.message); reason != "" {
		return trouble{reason, message}
	}
	return t
}

// of names the member that is in trouble. Pods of a Deployment have names that
// mean nothing and change.
func (o observation) of(pod *corev1.Pod, t trouble) trouble {
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

// podTrouble is in the pod's status, or for what happens before a container is
// there, in Events.
func (r *Runner) podTrouble(ctx context.Context, pod *corev1.Pod) (trouble, error) {
	t := troubleOf(pod)
	if t.reason == hyperv1.PodUnschedulableReason {
		claim, err := r.claimTrouble(ctx, pod)
		if err != nil || claim.reason != "" {
			return claim, err
		}
	}
	if t.reason != "" || pod.Spec.NodeName == "" || started(pod) || !r.old(pod) {
		return t, nil
	}
	return r.said(ctx, pod, hyperv1.VolumeNotReadyReason, "containers cannot be made")
}

// started says whether any container of the pod has been.
func started(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Waiting == nil || s.RestartCount > 0
	})
}

// claimTrouble is why a volume of the pod does not exist: its claim knows, or
// rather the Events about it.
func (r *Runner) claimTrouble(ctx context.Context, pod *corev1.Pod) (trouble, error) {
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
			return trouble{}, fmt.Errorf("getting volume claim %s: %w", v.PersistentVolumeClaim.ClaimName, err)
		}
		if claim.Status.Phase != corev1.ClaimPending {
			continue
		}
		// That there is no storage class at all is said without a warning.
		said, err := events.LatestWarning(ctx, r.Reader, claim, "FailedBinding")
		if err != nil || said != "" {
			return trouble{hyperv1.VolumeNotReadyReason, "volume claim " + claim.Name + " gets no volume" + behind(said)}, err
		}
	}
	return trouble{}, nil
}

// said is what the Events about an object complain of.
func (r *Runner) said(ctx context.Context, obj client.Object, reason, what string) (trouble, error) {
	said, err := events.LatestWarning(ctx, r.Reader, obj)
	if err != nil || said == "" {
		return trouble{}, err
	}
	return trouble{reason, what + behind(said)}, nil
}

func (r *Runner) old(obj client.Object) bool {
	return r.Clock.Since(obj.GetCreationTimestamp().Time) >= slow
}

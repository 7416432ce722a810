package component

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// lastGrace is how many seconds a pod of a deleted control plane has to end. The
// API server does not end at all once its etcd is gone, and what any of them
// would write down goes as well.
const lastGrace = 1

// Delete removes all components at once, and says whether the last pod is gone.
func (r *Runner) Delete(ctx context.Context, hcp *hyperv1.HostedControlPlane) (gone bool, err error) {
	list := &hyperv1.ControlPlaneComponentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(hcp.Namespace)); err != nil {
		return false, fmt.Errorf("listing components: %w", err)
	}
	gone = true
	for _, c := range list.Items {
		objectsGone, err := r.apply.Delete(ctx, setOf(hcp, c.Name))
		if err != nil {
			return false, fmt.Errorf("deleting component %s: %w", c.Name, err)
		}
		podsGone, err := r.hasten(ctx, hcp.Namespace, c.Name)
		if err != nil {
			return false, err
		}
		gone = gone && objectsGone && podsGone
	}
	if !gone {
		return false, nil
	}
	return r.apply.Delete(ctx, statuses(hcp))
}

// hasten lets no pod of the component take its time, once whoever made it has
// let it go: before that, it would be made again.
func (r *Runner) hasten(ctx context.Context, namespace, component string) (gone bool, err error) {
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{ComponentLabel: component}); err != nil {
		return false, fmt.Errorf("listing the pods of component %s: %w", component, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp.IsZero() || ptr.Deref(pod.DeletionGracePeriodSeconds, 0) <= lastGrace {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Hastening the end of a pod", "pod", pod.Name)
		if err := r.Client.Delete(ctx, pod, client.GracePeriodSeconds(lastGrace)); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("hastening the end of pod %s: %w", pod.Name, err)
		}
	}
	return len(pods.Items) == 0, nil
}

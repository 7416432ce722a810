package hostedclusterresources

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/podnetwork"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// podNetwork is the pod network of the release. Unlike other parts, it is never pruned: nodes would keep settings that
// nothing updates, and new nodes would not become ready.
var podNetwork = workload(components.PodNetwork)

// ensurePodNetwork installs and updates the pod network of the release, and reports it.
func (r *Reconciler) ensurePodNetwork(ctx context.Context, s *scope) error {
	if !s.hcp.Spec.Networking.UsesPodNetworkOfRelease() {
		meta.RemoveStatusCondition(&s.hcp.Status.Conditions, hyperv1.PodNetworkInstalled)
		return nil
	}
	c, err := r.installPodNetwork(ctx, s)
	if err != nil {
		return err
	}
	c.Type, c.ObservedGeneration = hyperv1.PodNetworkInstalled, s.hcp.Generation
	reconcile.SetCondition(&s.hcp.Status.Conditions, c, r.Clock.Now())
	return nil
}

func (r *Reconciler) installPodNetwork(ctx context.Context, s *scope) (metav1.Condition, error) {
	if podnetwork.Unmanaged(s.hcp) {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.PodNetworkUnmanagedReason, Message: "annotation " + hyperv1.PodNetworkAnnotation + " leaves the pod network to the user"}, nil
	}
	t, err := r.target(ctx, s)
	if err != nil {
		return metav1.Condition{}, err
	}
	if !t.Has(podnetwork.Image) {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NoPodNetworkInReleaseReason, Message: fmt.Sprintf(
			"release %s has no image %s: no pod network is installed, and an installed one is not updated", t.Release.Version, podnetwork.Image)}, nil
	}
	other, err := r.otherPodNetwork(ctx, s)
	if err != nil {
		return metav1.Condition{}, err
	}
	if other {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.OtherPodNetworkReason, Message: fmt.Sprintf(
			"the nodes are ready without the pod network of the release, which is not installed: set annotation %s to %s to keep the other one", hyperv1.PodNetworkAnnotation, hyperv1.PodNetworkUnmanaged)}, nil
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "the release connects pods by flannel, which does not enforce NetworkPolicies"}, r.ensure(ctx, s, podNetwork)
}

// otherPodNetwork reports whether the nodes have another pod network: one of them is ready, and the pod network of the
// release has never been installed. It is so in clusters that are older than the pod network of their release.
func (r *Reconciler) otherPodNetwork(ctx context.Context, s *scope) (bool, error) {
	if _, ensured := s.hosted.observed[podNetwork.name]; ensured {
		return false, nil
	}
	if at := s.hosted.otherPodNetwork; !at.IsZero() && r.Clock.Since(at) < r.Interval {
		return true, nil
	}
	for _, obj := range []client.Object{&appsv1.DaemonSet{}, &corev1.ConfigMap{}} {
		err := s.hosted.client.Get(ctx, client.ObjectKey{Namespace: podNetwork.namespace, Name: podNetwork.name}, obj)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("searching for the pod network of the release: %w", err)
		}
		if obj.GetLabels()[apply.InventoryLabel] != "" {
			return false, nil
		}
	}
	nodes := &corev1.NodeList{}
	if err := s.hosted.client.List(ctx, nodes); err != nil {
		return false, fmt.Errorf("reading whether nodes have a pod network: %w", err)
	}
	if !slices.ContainsFunc(nodes.Items, isReady) {
		return false, nil
	}
	s.hosted.otherPodNetwork = r.Clock.Now()
	return true, nil
}

func isReady(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

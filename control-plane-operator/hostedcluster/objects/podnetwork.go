package objects

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/podnetwork"
)

// podNetwork is the pod network of the release. Unlike other sets, it is never pruned: nodes would keep settings that
// no component updates, and new nodes would not become ready.
var podNetwork = workload(components.PodNetwork)

// PodNetwork holds the facts about the release's pod network.
type PodNetwork struct {
	// Release is the version of the release without an image of the pod network; empty if the release has one.
	Release string
	// Unmanaged is true if the user brings the pod network, and Other if the nodes have another pod network than the release's.
	Unmanaged, Other bool
}

// EnsurePodNetwork installs and updates the pod network of the release.
func (b *Builder) EnsurePodNetwork(ctx context.Context) (PodNetwork, error) {
	if podnetwork.Unmanaged(b.HCP) {
		return PodNetwork{Unmanaged: true}, nil
	}
	t, err := b.Target(ctx)
	if err != nil {
		return PodNetwork{}, err
	}
	if !t.Has(podnetwork.Image) {
		return PodNetwork{Release: t.Release.Version}, nil
	}
	if other, err := b.hasOtherPodNetwork(ctx); other || err != nil {
		return PodNetwork{Other: other}, err
	}
	return PodNetwork{}, b.Ensure(ctx, podNetwork)
}

// Condition returns the status, the reason and the message of the condition PodNetworkInstalled.
func (n PodNetwork) Condition() metav1.Condition {
	switch {
	case n.Unmanaged:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.PodNetworkUnmanagedReason, Message: "annotation " + hyperv1.PodNetworkAnnotation + " leaves the pod network to the user"}
	case n.Release != "":
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NoPodNetworkInReleaseReason, Message: fmt.Sprintf(
			"release %s has no image %s: no pod network is installed, and an installed one is not updated", n.Release, podnetwork.Image)}
	case n.Other:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.OtherPodNetworkReason, Message: fmt.Sprintf(
			"the nodes are ready without the pod network of the release, which is not installed: set annotation %s to %s to keep the other one", hyperv1.PodNetworkAnnotation, hyperv1.PodNetworkUnmanaged)}
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "the release connects pods by flannel, which does not enforce NetworkPolicies"}
}

// otherPodNetwork is when nodes were found to have another pod network than the release's.
type otherPodNetwork time.Time

// hasOtherPodNetwork reports whether the nodes have another pod network: one of them is ready, and the pod network of the
// release has never been installed. It is so in clusters that are older than the pod network of their release.
func (b *Builder) hasOtherPodNetwork(ctx context.Context) (bool, error) {
	if !AppliedAt(b.Cluster, podNetwork).IsZero() {
		return false, nil
	}
	found := connection.Memory[otherPodNetwork](b.Cluster)
	if at := time.Time(*found); !at.IsZero() && b.Clock.Since(at) < b.Interval {
		return true, nil
	}
	for _, obj := range []client.Object{&appsv1.DaemonSet{}, &corev1.ConfigMap{}} {
		err := b.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: podNetwork.Namespace, Name: podNetwork.Name}, obj)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("searching for the pod network of the release: %w", err)
		}
		if obj.GetLabels()[apply.InventoryLabel] != "" {
			return false, nil
		}
	}
	nodes := &corev1.NodeList{}
	if err := b.Cluster.Client.List(ctx, nodes); err != nil {
		return false, fmt.Errorf("reading whether nodes have a pod network: %w", err)
	}
	if !slices.ContainsFunc(nodes.Items, isReady) {
		return false, nil
	}
	*found = otherPodNetwork(b.Clock.Now())
	return true, nil
}

func isReady(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

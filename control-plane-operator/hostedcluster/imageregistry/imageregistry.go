// Package imageregistry observes the image registry of a hosted cluster. Packages components/imageregistry and imageregistrynode are its
// pods, and package imageregistrybucket creates its bucket.
package imageregistry

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/imageregistry"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Facts are the facts about the registry.
type Facts struct {
	// Release is the version of the release, and HasImage is true if it contains the image of the registry.
	Release  string
	HasImage bool
	// Ready is the number of ready pods.
	Ready int32
}

// Observe reads the pods.
func Observe(ctx context.Context, b *objects.Builder) (f Facts, err error) {
	payload, err := b.Release(ctx)
	if err != nil {
		return f, err
	}
	if f.Release, f.HasImage = payload.Version, payload.Components[names.ImageRegistry] != ""; !f.HasImage {
		return f, nil
	}
	pods := &appsv1.Deployment{}
	err = b.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: names.ImageRegistry}, pods)
	if client.IgnoreNotFound(err) != nil {
		return f, fmt.Errorf("reading the image registry: %w", err)
	}
	f.Ready = pods.Status.ReadyReplicas
	return f, nil
}

// Condition returns the status, the reason and the message of the condition ImageRegistryAvailable.
func (f Facts) Condition(hcp *hyperv1.HostedControlPlane) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case !f.HasImage:
		return is(metav1.ConditionFalse, hyperv1.NoImageRegistryInReleaseReason, "release %s has no image %s", f.Release, names.ImageRegistry)
	case f.Ready > 0:
		return is(metav1.ConditionTrue, hyperv1.AsExpectedReason, "images are named %s/<namespace>/<name>", names.ImageRegistryHost)
	case !imageregistry.HasBucket(hcp):
		return is(metav1.ConditionFalse, hyperv1.WaitingForBucketReason, "the bucket of the image registry is not ready: see condition %s", hyperv1.ImageRegistryBucketAvailable)
	case ptr.Deref(hcp.Status.NodeCount, 0) == 0:
		return is(metav1.ConditionUnknown, hyperv1.NoNodesReason, "the image registry runs on nodes, and the cluster has none")
	}
	return is(metav1.ConditionFalse, hyperv1.ImageRegistryNotRunningReason, "no pod of Deployment kube-system/%s of the hosted cluster is ready", names.ImageRegistry)
}

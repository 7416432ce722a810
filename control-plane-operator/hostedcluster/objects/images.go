package objects

import (
	"context"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Arrived returns whether the control plane runs the desired release: it is the last complete one, or there is no
// complete one yet.
func Arrived(hcp *hyperv1.HostedControlPlane) bool {
	if hcp.Status.VersionStatus == nil {
		return true
	}
	for _, ran := range hcp.Status.VersionStatus.History {
		if ran.State == configv1.CompletedUpdate {
			return ran.Image == hcp.Spec.ReleaseImage
		}
	}
	return true
}

// Release returns the payload of the desired release. It waits, by reconcile.Wait, while the payload cannot be read.
func (b *Builder) Release(ctx context.Context) (*release.Release, error) {
	credentials, err := b.credentials(ctx)
	if err != nil {
		return nil, err
	}
	payload, err := release.For(b.HCP, b.Releases).Resolve(ctx, b.HCP.Spec.ReleaseImage, credentials)
	var unresolved *release.Error
	if errors.As(err, &unresolved) {
		return nil, reconcile.Wait(pollInterval, hyperv1.WaitingForReason, "waiting for the release of the pods on nodes: %v", unresolved)
	}
	return payload, err
}

// credentials returns the content of the pull secret, or nil if the cluster has none.
func (b *Builder) credentials(ctx context.Context) ([]byte, error) {
	if b.HCP.Spec.PullSecret.Name == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := b.Client.Get(ctx, client.ObjectKey{Namespace: b.HCP.Namespace, Name: b.HCP.Spec.PullSecret.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", b.HCP.Spec.PullSecret.Name, err)
	}
	return secret.Data[corev1.DockerConfigJsonKey], nil
}

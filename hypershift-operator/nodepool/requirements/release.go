package requirements

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Releases reads releases with the pull secret of the cluster.
type Releases struct {
	Client client.Reader
	// UserObjects reads the user's pull secret.
	UserObjects client.Reader
	Resolver    release.Resolver
}

// Resolve reads a release.
func (r Releases) Resolve(ctx context.Context, p *objects.Pool, image string) (*release.Release, error) {
	secret, err := r.pullSecret(ctx, p)
	if err != nil {
		return nil, err
	}
	rel, err := release.From(p.HostedCluster.Spec.ImageContentSources, r.Resolver).Resolve(ctx, image, secret)
	if err != nil {
		return nil, unreadableRelease(err)
	}
	return rel, nil
}

// NodePrograms returns the programs that the machines install, or nil if the release has none: then their image has them.
func (r Releases) NodePrograms(ctx context.Context, p *objects.Pool, rel *release.Release) (*hyperv1.NodePrograms, error) {
	image := rel.Components[names.NodePrograms]
	if image == "" || !rel.Carries(p.Arch()) { // Arch reports it
		return nil, nil //nolint:nilnil // a release without programs is valid
	}
	secret, err := r.pullSecret(ctx, p)
	if err != nil {
		return nil, err
	}
	programs, err := release.From(p.HostedCluster.Spec.ImageContentSources, r.Resolver).NodePrograms(ctx, image, p.Arch(), secret)
	if err != nil {
		return nil, unreadableRelease(err)
	}
	programs.SandboxImage = rel.Components[names.PauseImage]
	return programs, nil
}

// unreadableRelease maps errors that only the user can correct.
func unreadableRelease(err error) error {
	var failed *release.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Kind {
	case release.InvalidReference:
		return reconcile.Block(hyperv1.InvalidImageReason, "%s", failed)
	case release.NotAllowed:
		return reconcile.Block(hyperv1.ReleaseImageNotAllowedReason, "%s: choose such a release", failed)
	case release.NotSigned:
		return reconcile.Wait(PollInterval, hyperv1.ReleaseImageNotSignedReason, "%s: choose a release of your vendor", failed)
	}
	return failed
}

// pullSecret prefers the copy in the namespace of the control plane, which is cached.
func (r Releases) pullSecret(ctx context.Context, p *objects.Pool) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: names.PullSecret}, secret)
	if apierrors.IsNotFound(err) {
		err = r.UserObjects.Get(ctx, client.ObjectKey{Namespace: p.HostedCluster.Namespace, Name: p.HostedCluster.Spec.PullSecret.Name}, secret)
	}
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(PollInterval, hyperv1.SecretNotFoundReason, "Secret %s, the pull secret of HostedCluster %s, does not exist: create it", p.HostedCluster.Spec.PullSecret.Name, p.HostedCluster.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("getting the pull secret of HostedCluster %s: %w", p.HostedCluster.Name, err)
	}
	return secret.Data[corev1.DockerConfigJsonKey], nil
}

package nodepool

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// resolveRelease reads the release of the nodes.
func (r *Reconciler) resolveRelease(ctx context.Context, s *scope) error {
	rel, err := r.resolve(ctx, s, s.np.Spec.Release.Image)
	if err != nil {
		return err
	}
	s.release = rel
	s.programs, err = r.nodePrograms(ctx, s)
	return err
}

// nodePrograms returns the programs that the machines install, or nil if the release has none: then their image has them.
func (r *Reconciler) nodePrograms(ctx context.Context, s *scope) (*hyperv1.NodePrograms, error) {
	image := s.release.Components[names.NodePrograms]
	if image == "" || !s.release.Carries(s.arch()) { // checkArch reports it
		return nil, nil //nolint:nilnil // a release without programs is valid
	}
	secret, err := r.pullSecret(ctx, s)
	if err != nil {
		return nil, err
	}
	programs, err := release.From(s.hc.Spec.ImageContentSources, r.Releases).NodePrograms(ctx, image, s.arch(), secret)
	if err != nil {
		return nil, unreadableRelease(err)
	}
	programs.SandboxImage = s.release.Components[names.PauseImage]
	return programs, nil
}

// resolve reads a release with the pull secret of the cluster.
func (r *Reconciler) resolve(ctx context.Context, s *scope, image string) (*release.Release, error) {
	secret, err := r.pullSecret(ctx, s)
	if err != nil {
		return nil, err
	}
	rel, err := release.From(s.hc.Spec.ImageContentSources, r.Releases).Resolve(ctx, image, secret)
	if err != nil {
		return nil, unreadableRelease(err)
	}
	return rel, nil
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
		return reconcile.Wait(pollInterval, hyperv1.ReleaseImageNotSignedReason, "%s: choose a release of your vendor", failed)
	}
	return failed
}

// pullSecret prefers the copy in the namespace of the control plane, which is cached.
func (r *Reconciler) pullSecret(ctx context.Context, s *scope) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: names.PullSecret}, secret)
	if apierrors.IsNotFound(err) {
		err = r.Reader.Get(ctx, client.ObjectKey{Namespace: s.hc.Namespace, Name: s.hc.Spec.PullSecret.Name}, secret)
	}
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(pollInterval, hyperv1.SecretNotFoundReason, "Secret %s, the pull secret of HostedCluster %s, does not exist: create it", s.hc.Spec.PullSecret.Name, s.hc.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("getting the pull secret of HostedCluster %s: %w", s.hc.Name, err)
	}
	return secret.Data[corev1.DockerConfigJsonKey], nil
}

package components

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// resolveRelease reads the images of the release. A release without an image that every control plane needs is not
// rolled out.
func (r *Reconciler) resolveRelease(ctx context.Context, s *scope) error {
	credentials, err := r.pullSecret(ctx, s.hcp)
	if err != nil {
		return err
	}
	releases := release.For(s.hcp, r.Releases)
	wanted, err := releases.Resolve(ctx, s.hcp.Spec.ReleaseImage, credentials)
	if err != nil {
		return err
	}
	runs := wanted
	if image := ptr.Deref(s.hcp.Spec.ControlPlaneReleaseImage, ""); image != "" {
		if runs, err = releases.Resolve(ctx, image, credentials); err != nil {
			return err
		}
	}
	if missing := runs.Missing(s.hcp.Spec.Etcd.ManagementType); len(missing) > 0 {
		return reconcile.Block(hyperv1.MissingReleaseImagesReason, "release %s has no image for %s: choose a complete release", runs.Version, strings.Join(missing, ", "))
	}
	s.wanted, s.runs = wanted, runs
	return nil
}

func (r *Reconciler) pullSecret(ctx context.Context, hcp *hyperv1.HostedControlPlane) ([]byte, error) {
	name := hcp.Spec.PullSecret.Name
	if name == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for the pull secret: Secret %s does not exist", name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return secret.Data[corev1.DockerConfigJsonKey], nil
}

package hostedcluster

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/userobjects"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// registryInterval is how soon to read an image again that the registry does not
// have or does not serve: no watch reports a push or a new permission.
const registryInterval = 2 * time.Minute

// Fields of the HostedCluster that choose a release.
const (
	releaseField             = "spec.release.image"
	controlPlaneReleaseField = "spec.controlPlaneRelease.image"
)

// payloadImages are the images of the releases of a cluster. controlPlane is empty
// if the control plane runs the release of the cluster.
type payloadImages struct{ release, controlPlane string }

// checkRelease checks releases before the control plane gets them. A running cluster
// keeps its two releases until both new ones pass.
func (r *Reconciler) checkRelease(ctx context.Context, s *scope) error {
	s.images = s.runningImages()
	wanted := wantedImages(s.hc)
	rel, own, err := r.checkReleases(ctx, s, wanted)
	if err == nil {
		s.images, s.release, s.controlPlaneRelease = wanted, rel, own
		return nil
	}
	s.releaseHeld = s.images.release != ""
	if s.releaseHeld && (s.images != wanted || !release.IsUnreachable(err)) {
		r.readRunning(ctx, s)
	}
	if release.IsUnreachable(err) {
		return reconcile.Unverified(hyperv1.RegistryUnreachableReason, "%s", err.Error()).With(err)
	}
	return err
}

// readRunning reads the releases that the control plane keeps, by the digests that
// have passed the checks: a tag may have moved since. Steps that need their contents
// wait if they cannot be read.
func (r *Reconciler) readRunning(ctx context.Context, s *scope) {
	read := func(field, image, annotation string) *release.Release {
		rel, err := r.readRelease(ctx, s, field, release.Pin(image, s.hcp.Annotations[annotation]))
		if err != nil {
			return nil
		}
		named := *rel
		named.Image = image
		return &named
	}
	s.release = read(releaseField, s.images.release, hyperv1.ReleaseDigestAnnotation)
	if own := s.images.controlPlane; own != "" {
		s.controlPlaneRelease = read(controlPlaneReleaseField, own, hyperv1.ControlPlaneReleaseDigestAnnotation)
	}
}

// checkReleases reads the releases and returns why the cluster cannot run them. own
// is nil if the control plane runs the release of the cluster.
func (r *Reconciler) checkReleases(ctx context.Context, s *scope, wanted payloadImages) (rel, own *release.Release, err error) {
	if rel, err = r.readRelease(ctx, s, releaseField, wanted.release); err != nil {
		return nil, nil, err
	}
	if err := checkComplete(s.hc, rel); err != nil {
		return nil, nil, err
	}
	runs, field := rel, releaseField
	if wanted.controlPlane != "" {
		if own, err = r.readRelease(ctx, s, controlPlaneReleaseField, wanted.controlPlane); err != nil {
			return nil, nil, err
		}
		if err := checkComplete(s.hc, own); err != nil {
			return nil, nil, err
		}
		runs, field = own, controlPlaneReleaseField
	}
	if err := checkVersion(s.hc, clusterStep(s.hc, rel)); err != nil {
		return nil, nil, err
	}
	if err := checkVersion(s.hc, s.controlPlaneStep(field, cmp.Or(wanted.controlPlane, wanted.release), runs)); err != nil {
		return nil, nil, err
	}
	if own != nil {
		err = checkSkew(s.hc, rel, own)
	}
	return rel, own, cmp.Or(err, checkArchitecture(s.hc, runs, runtime.GOARCH))
}

// digestOf returns the digest of an image that the control plane runs: that of the
// release that has passed the checks or, while that cannot be read, the earlier one
// in an annotation.
func (s *scope) digestOf(image string, rel *release.Release, annotation string) string {
	switch {
	case rel != nil && rel.Image == image:
		return rel.Digest
	case s.hcp != nil && (s.hcp.Spec.ReleaseImage == image || ptr.Deref(s.hcp.Spec.ControlPlaneReleaseImage, "") == image):
		return s.hcp.Annotations[annotation]
	}
	return ""
}

// digests returns the annotations of the control plane about the releases that it
// runs.
func (s *scope) digests() map[string]string {
	out := map[string]string{}
	if digest := s.digestOf(s.images.release, s.release, hyperv1.ReleaseDigestAnnotation); digest != "" {
		out[hyperv1.ReleaseDigestAnnotation] = digest
	}
	if own := s.images.controlPlane; own != "" {
		if digest := s.digestOf(own, s.controlPlaneRelease, hyperv1.ControlPlaneReleaseDigestAnnotation); digest != "" {
			out[hyperv1.ControlPlaneReleaseDigestAnnotation] = digest
		}
	}
	return out
}

// wantedImages are those in the spec of the HostedCluster.
func wantedImages(hc *hyperv1.HostedCluster) payloadImages {
	images := payloadImages{release: hc.Spec.Release.Image}
	if own := hc.Spec.ControlPlaneRelease; own != nil && own.Image != images.release {
		images.controlPlane = own.Image
	}
	return images
}

// runningImages are those in the spec of the HostedControlPlane.
func (s *scope) runningImages() payloadImages {
	if s.hcp == nil {
		return payloadImages{}
	}
	return payloadImages{release: s.hcp.Spec.ReleaseImage, controlPlane: ptr.Deref(s.hcp.Spec.ControlPlaneReleaseImage, "")}
}

// readRelease reads the release that a field names with the user's pull secret. Its
// errors contain what to do.
func (r *Reconciler) readRelease(ctx context.Context, s *scope, field, image string) (*release.Release, error) {
	data, err := s.objects.Read(ctx, userobjects.PullSecretOf(&s.hc.Spec))
	if err != nil {
		return nil, err
	}
	rel, err := release.From(s.hc.Spec.ImageContentSources, r.Releases).Resolve(ctx, image, data[corev1.DockerConfigJsonKey])
	var failed *release.Error
	if !errors.As(err, &failed) {
		return rel, err
	}
	switch failed.Kind {
	case release.NotFound:
		return nil, reconcile.Wait(registryInterval, hyperv1.ReleaseImageNotFoundReason, "%s: choose another %s, or push it", failed, field)
	case release.Denied, release.InvalidPullSecret:
		return nil, reconcile.Wait(registryInterval, hyperv1.ReleaseImageDeniedReason, "%s: add credentials that may pull it to Secret %s, which spec.pullSecret names", failed, s.hc.Spec.PullSecret.Name)
	case release.InvalidReference:
		return nil, reconcile.Block(hyperv1.InvalidImageReason, "%s", failed)
	case release.NotRelease:
		return nil, reconcile.Wait(registryInterval, hyperv1.InvalidImageReason, "%s: choose another %s", failed, field)
	case release.Incomplete:
		return nil, reconcile.Wait(registryInterval, hyperv1.MissingReleaseImagesReason, "%s: choose another %s, or add credentials for that registry to Secret %s", failed, field, s.hc.Spec.PullSecret.Name)
	case release.NotAllowed:
		return nil, reconcile.Block(hyperv1.ReleaseImageNotAllowedReason, "%s: choose such a release in %s", failed, field)
	case release.NotSigned:
		return nil, reconcile.Wait(registryInterval, hyperv1.ReleaseImageNotSignedReason, "%s: choose a release of your vendor in %s", failed, field)
	}
	ctrl.LoggerFrom(ctx).Info("The release image could not be read", "image", image, "cause", release.Cause(failed).Error())
	return nil, failed
}

// checkComplete blocks a release without an image that every control plane needs.
func checkComplete(hc *hyperv1.HostedCluster, rel *release.Release) error {
	if missing := rel.Missing(hc.Spec.Etcd.ManagementType); len(missing) > 0 {
		return reconcile.Block(hyperv1.MissingReleaseImagesReason, "release %s has no image for %s: choose a complete release", rel.Version, strings.Join(missing, ", "))
	}
	return nil
}

// componentImage returns the image of a component: the one that this installation
// configures, or that of the cluster's release, in which different families have
// different names for it.
func (r *Reconciler) componentImage(ctx context.Context, s *scope, chosen, flag string, names ...string) (string, error) {
	if chosen != "" {
		return chosen, nil
	}
	if s.release == nil && s.runningImages().release == "" {
		return "", errNoRelease()
	}
	if s.release == nil { // the gate has not been asked, or could not read it
		var err error
		if s.release, err = r.readRelease(ctx, s, releaseField, s.runningImages().release); err != nil {
			return "", err
		}
	}
	for _, name := range names {
		if image := s.release.Components[name]; image != "" {
			return image, nil
		}
	}
	return "", reconcile.Block(hyperv1.MissingReleaseImagesReason,
		"release %s has no image for %s, and the cluster has node pools: choose a release that has, or start the hypershift-operator with --%s", s.release.Version, names[0], flag)
}

// errNoRelease is the outcome of steps that need a release while none has passed the
// checks.
func errNoRelease() error {
	return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for the release image")
}

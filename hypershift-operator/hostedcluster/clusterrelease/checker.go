package clusterrelease

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
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

// A Checker checks releases.
type Checker struct {
	// Releases resolves the content of release images.
	Releases release.Resolver
}

// A Cluster holds the facts about a hosted cluster that the Checker needs.
type Cluster struct {
	HostedCluster *hyperv1.HostedCluster
	// ControlPlane is nil if it does not exist.
	ControlPlane *hyperv1.HostedControlPlane
	// PullSecret reads the user's pull secret, in the format of Docker.
	PullSecret func(context.Context) ([]byte, error)
}

// Check checks the releases of the spec. A running cluster keeps its two releases
// until both new ones pass; the error says why they do not. The State is valid in
// any case.
func (k Checker) Check(ctx context.Context, c Cluster) (State, error) {
	images := wanted(c.HostedCluster)
	rel, controlPlane, err := k.check(ctx, c, images)
	if err == nil {
		return State{Images: images, Release: rel, ControlPlane: controlPlane}, nil
	}
	s := State{Images: running(c.ControlPlane)}
	s.Held = s.Images.Release != ""
	if s.Held && (s.Images != images || !release.IsUnreachable(err)) {
		s.Release, s.ControlPlane = k.readRunning(ctx, c)
	}
	if release.IsUnreachable(err) {
		return s, reconcile.Unverified(hyperv1.RegistryUnreachableReason, "%s", err.Error()).With(err)
	}
	return s, err
}

// readRunning reads the releases that the control plane keeps, by the digests that
// have passed the checks: a tag may have moved since. A release that cannot be read is
// nil: steps that need its contents wait.
func (k Checker) readRunning(ctx context.Context, c Cluster) (rel, controlPlane *release.Release) {
	read := func(field, image, annotation string) *release.Release {
		rel, err := k.read(ctx, c, field, release.Pin(image, c.ControlPlane.Annotations[annotation]))
		if err != nil {
			return nil
		}
		named := *rel
		named.Image = image
		return &named
	}
	images := running(c.ControlPlane)
	rel = read(releaseField, images.Release, hyperv1.ReleaseDigestAnnotation)
	if images.ControlPlane != "" {
		controlPlane = read(controlPlaneReleaseField, images.ControlPlane, hyperv1.ControlPlaneReleaseDigestAnnotation)
	}
	return rel, controlPlane
}

// check reads the releases and returns why the cluster cannot run them. controlPlane is nil if the control plane runs the release of the
// cluster.
func (k Checker) check(ctx context.Context, c Cluster, images Images) (rel, controlPlane *release.Release, err error) {
	hc := c.HostedCluster
	if rel, err = k.read(ctx, c, releaseField, images.Release); err != nil {
		return nil, nil, err
	}
	if err := checkComplete(hc, rel); err != nil {
		return nil, nil, err
	}
	runs, field := rel, releaseField
	if images.ControlPlane != "" {
		if controlPlane, err = k.read(ctx, c, controlPlaneReleaseField, images.ControlPlane); err != nil {
			return nil, nil, err
		}
		if err := checkComplete(hc, controlPlane); err != nil {
			return nil, nil, err
		}
		runs, field = controlPlane, controlPlaneReleaseField
	}
	if err := checkVersion(hc, clusterStep(hc, rel)); err != nil {
		return nil, nil, err
	}
	if err := checkVersion(hc, controlPlaneStep(c, field, cmp.Or(images.ControlPlane, images.Release), runs)); err != nil {
		return nil, nil, err
	}
	if controlPlane != nil {
		err = checkSkew(hc, rel, controlPlane)
	}
	return rel, controlPlane, cmp.Or(err, k.checkEtcd(ctx, c, field, runs), checkArchitecture(hc, runs, runtime.GOARCH))
}

// checkEtcd blocks a release with an etcd that cannot read the data of the cluster. A release that cannot be read any more, or that does
// not specify its etcd, does not block.
func (k Checker) checkEtcd(ctx context.Context, c Cluster, field string, to *release.Release) error {
	if c.HostedCluster.Spec.Etcd.ManagementType == hyperv1.Unmanaged || to.EtcdVersion == "" || running(c.ControlPlane).Release == "" || isRunning(c.ControlPlane, to) {
		return nil
	}
	from, controlPlane := k.readRunning(ctx, c)
	if controlPlane != nil {
		from = controlPlane
	}
	if from == nil || from.EtcdVersion == "" {
		return nil
	}
	return checkEtcdStep(c.HostedCluster, field, from, to)
}

// isRunning is true if a control plane runs the release. The image is not sufficient, because a tag may have moved.
func isRunning(hcp *hyperv1.HostedControlPlane, rel *release.Release) bool {
	images := running(hcp)
	digest := hcp.Annotations[hyperv1.ReleaseDigestAnnotation]
	if images.ControlPlane != "" {
		digest = hcp.Annotations[hyperv1.ControlPlaneReleaseDigestAnnotation]
	}
	return cmp.Or(images.ControlPlane, images.Release) == rel.Image && (digest == "" || digest == rel.Digest)
}

// read reads the release that a field names with the user's pull secret. Its errors contain the remedy.
func (k Checker) read(ctx context.Context, c Cluster, field, image string) (*release.Release, error) {
	pullSecret, err := c.PullSecret(ctx)
	if err != nil {
		return nil, err
	}
	spec := &c.HostedCluster.Spec
	rel, err := release.From(spec.ImageContentSources, k.Releases).Resolve(ctx, image, pullSecret)
	var failed *release.Error
	if !errors.As(err, &failed) {
		return rel, err
	}
	switch failed.Kind {
	case release.NotFound:
		return nil, reconcile.Wait(registryInterval, hyperv1.ReleaseImageNotFoundReason, "%s: choose another %s, or push it", failed, field)
	case release.Denied, release.InvalidPullSecret:
		return nil, reconcile.Wait(registryInterval, hyperv1.ReleaseImageDeniedReason, "%s: add credentials that may pull it to Secret %s, which spec.pullSecret names", failed, spec.PullSecret.Name)
	case release.InvalidReference:
		return nil, reconcile.Block(hyperv1.InvalidImageReason, "%s", failed)
	case release.NotRelease:
		return nil, reconcile.Wait(registryInterval, hyperv1.InvalidImageReason, "%s: choose another %s", failed, field)
	case release.Incomplete:
		return nil, reconcile.Wait(registryInterval, hyperv1.MissingReleaseImagesReason, "%s: choose another %s, or add credentials for that registry to Secret %s", failed, field, spec.PullSecret.Name)
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

// A Component is a program that the operators run from the cluster's release.
type Component struct {
	// Names are its names in releases: different families have different ones.
	Names []string
	// Chosen is the image that this installation has chosen by Flag; empty for the release's image.
	Chosen, Flag string
}

// ComponentImage returns the image of a component. It reads the release if the check
// has not read it.
func (k Checker) ComponentImage(ctx context.Context, c Cluster, s *State, of Component) (string, error) {
	if of.Chosen != "" {
		return of.Chosen, nil
	}
	for _, name := range of.Names {
		if image, err := k.OptionalImage(ctx, c, s, name); image != "" || err != nil {
			return image, err
		}
	}
	return "", reconcile.Block(hyperv1.MissingReleaseImagesReason,
		"release %s has no image for %s, and the cluster has node pools: choose a release that has, or start the hypershift-operator with --%s", s.Release.Version, of.Names[0], of.Flag)
}

// OptionalImage returns the image of that name of the cluster's release, or "" if the release has none. It reads the release
// if the check has not read it.
func (k Checker) OptionalImage(ctx context.Context, c Cluster, s *State, name string) (string, error) {
	rel, err := k.Running(ctx, c, s)
	if err != nil {
		return "", err
	}
	return rel.Components[name], nil
}

// Running returns the cluster's release. It reads it if the check has not read it.
func (k Checker) Running(ctx context.Context, c Cluster, s *State) (*release.Release, error) {
	if s.Release == nil {
		image := running(c.ControlPlane).Release
		if image == "" {
			return nil, ErrNoRelease()
		}
		var err error
		if s.Release, err = k.read(ctx, c, releaseField, image); err != nil {
			return nil, err
		}
	}
	return s.Release, nil
}

// ErrNoRelease is the outcome of steps that need a release while none has passed the
// checks.
func ErrNoRelease() error {
	return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for the release image")
}

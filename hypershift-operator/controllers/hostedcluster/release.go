package hostedcluster

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// releasePause is how soon to ask again for an image that the registry does not
// have or does not give: nobody tells us of a push, or of a permission.
const releasePause = 2 * time.Minute

// checkRelease is the gate that a release passes before the control plane hears
// of it. A cluster that runs stays with the release that it has until then.
func (r *Reconciler) checkRelease(ctx context.Context, s *scope) error {
	s.releaseImage = s.runningImage()
	wanted := s.hc.Spec.Release.Image
	rel, err := r.readRelease(ctx, s, wanted)
	if err == nil {
		err = checkComplete(s.hc, rel)
	}
	if err == nil {
		err = checkVersion(s.hc, rel.Version)
	}
	if err == nil {
		err = checkArchitecture(s.hc, rel, runtime.GOARCH)
	}
	if err == nil {
		s.release, s.releaseImage = rel, wanted
		return nil
	}
	s.held = s.releaseImage != ""
	if s.held && s.releaseImage != wanted {
		// Without it the present release still stands; who needs to look into it waits.
		s.release, _ = r.readRelease(ctx, s, s.releaseImage)
	}
	if release.IsUnreachable(err) {
		s.unchecked[hyperv1.ValidReleaseImage] = metav1.Condition{Reason: hyperv1.RegistryUnreachableReason, Message: err.Error()}
	}
	return err
}

// runningImage is the release that the control plane was last told to run.
func (s *scope) runningImage() string {
	if s.hcp == nil {
		return ""
	}
	return s.hcp.Spec.ReleaseImage
}

// releaseDigest is the digest of the release that the control plane runs: the one that has passed the checks, or, while that release
// cannot be read, the one that had passed them before.
func (s *scope) releaseDigest() string {
	switch {
	case s.release != nil && s.release.Image == s.releaseImage:
		return s.release.Digest
	case s.hcp != nil && s.hcp.Spec.ReleaseImage == s.releaseImage:
		return s.hcp.Annotations[hyperv1.ReleaseDigestAnnotation]
	}
	return ""
}

// readRelease asks for a release with the user's pull secret, and says what to
// do if that fails.
func (r *Reconciler) readRelease(ctx context.Context, s *scope, image string) (*release.Release, error) {
	data, err := r.brought(ctx, s, pullSecretOf(&s.hc.Spec))
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
		return nil, flow.Wait(releasePause, hyperv1.ReleaseImageNotFoundReason, "%s: choose another spec.release.image, or push it", failed)
	case release.Denied, release.InvalidPullSecret:
		return nil, flow.Wait(releasePause, hyperv1.ReleaseImageDeniedReason, "%s: add credentials that may pull it to Secret %s, which spec.pullSecret names", failed, s.hc.Spec.PullSecret.Name)
	case release.InvalidReference:
		return nil, flow.Block(hyperv1.InvalidImageReason, "%s", failed)
	case release.NotRelease:
		return nil, flow.Wait(releasePause, hyperv1.InvalidImageReason, "%s: choose another spec.release.image", failed)
	case release.Incomplete:
		return nil, flow.Wait(releasePause, hyperv1.MissingReleaseImagesReason, "%s: choose another spec.release.image, or add credentials for that registry to Secret %s", failed, s.hc.Spec.PullSecret.Name)
	case release.NotAllowed:
		return nil, flow.Block(hyperv1.ReleaseImageNotAllowedReason, "%s: choose such a release", failed)
	case release.NotSigned:
		return nil, flow.Wait(releasePause, hyperv1.ReleaseImageNotSignedReason, "%s: choose a release of your vendor", failed)
	}
	ctrl.LoggerFrom(ctx).Info("The release image could not be read", "image", image, "cause", release.Cause(failed).Error())
	return nil, failed
}

// checkComplete refuses a release without an image that every control plane needs.
func checkComplete(hc *hyperv1.HostedCluster, rel *release.Release) error {
	if missing := rel.Missing(hc.Spec.Etcd.ManagementType); len(missing) > 0 {
		return flow.Block(hyperv1.MissingReleaseImagesReason, "release %s has no image for %s: choose a complete release", rel.Version, strings.Join(missing, ", "))
	}
	return nil
}

// componentImage is what runs a component: the image that this installation was
// told to use, else that of the cluster's release, in which different families
// have different names for it.
func (r *Reconciler) componentImage(ctx context.Context, s *scope, chosen, flag string, names ...string) (string, error) {
	if chosen != "" {
		return chosen, nil
	}
	if s.release == nil && s.runningImage() == "" {
		return "", errNoRelease()
	}
	if s.release == nil { // the gate has not been asked, or could not read it
		var err error
		if s.release, err = r.readRelease(ctx, s, s.runningImage()); err != nil {
			return "", err
		}
	}
	for _, name := range names {
		if image := s.release.Components[name]; image != "" {
			return image, nil
		}
	}
	return "", flow.Block(hyperv1.MissingReleaseImagesReason,
		"release %s has no image for %s, and the cluster has node pools: choose a release that has, or start the hypershift-operator with --%s", s.release.Version, names[0], flag)
}

// errNoRelease is what steps say that need a release, when none has passed yet.
func errNoRelease() error {
	return flow.Wait(0, hyperv1.WaitingForReason, "waiting for the release image")
}

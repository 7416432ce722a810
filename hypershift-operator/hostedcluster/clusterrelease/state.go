package clusterrelease

import (
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/versionhistory"
)

// Images are the images of the releases of a cluster.
type Images struct {
	Release string
	// ControlPlane is empty if the control plane runs the release of the cluster.
	ControlPlane string
}

// wanted returns the images in the spec of a HostedCluster.
func wanted(hc *hyperv1.HostedCluster) Images {
	images := Images{Release: hc.Spec.Release.Image}
	if controlPlane := hc.Spec.ControlPlaneRelease; controlPlane != nil && controlPlane.Image != images.Release {
		images.ControlPlane = controlPlane.Image
	}
	return images
}

// running returns the images in the spec of a HostedControlPlane, which may be nil.
func running(hcp *hyperv1.HostedControlPlane) Images {
	if hcp == nil {
		return Images{}
	}
	return Images{Release: hcp.Spec.ReleaseImage, ControlPlane: ptr.Deref(hcp.Spec.ControlPlaneReleaseImage, "")}
}

// A State is which releases a cluster gets in one reconcile. The zero value is that
// before the check.
type State struct {
	// Images are those that the cluster runs, empty while no release has passed the
	// checks.
	Images Images
	// Release and ControlPlane are the contents of the images, nil if they could not
	// be read or, for the latter, if the control plane runs the release of the cluster.
	Release, ControlPlane *release.Release
	// Held is true if the spec names others, which have not passed.
	Held bool
}

// IsWanted reports whether the cluster runs the releases that its user wants.
func (s *State) IsWanted(hc *hyperv1.HostedCluster) bool { return s.Images == wanted(hc) }

// Digests returns the annotations of the HostedControlPlane, which may be nil, about
// the releases that it runs.
func (s *State) Digests(hcp *hyperv1.HostedControlPlane) map[string]string {
	out := map[string]string{}
	if digest := digestOf(hcp, s.Images.Release, s.Release, hyperv1.ReleaseDigestAnnotation); digest != "" {
		out[hyperv1.ReleaseDigestAnnotation] = digest
	}
	if image := s.Images.ControlPlane; image != "" {
		if digest := digestOf(hcp, image, s.ControlPlane, hyperv1.ControlPlaneReleaseDigestAnnotation); digest != "" {
			out[hyperv1.ControlPlaneReleaseDigestAnnotation] = digest
		}
	}
	return out
}

// digestOf returns the digest of an image that the control plane runs: the digest of the release that has passed the checks or, while that
// cannot be read, the earlier digest in an annotation.
func digestOf(hcp *hyperv1.HostedControlPlane, image string, rel *release.Release, annotation string) string {
	runs := running(hcp)
	switch {
	case rel != nil && rel.Image == image:
		return rel.Digest
	case hcp != nil && (runs.Release == image || runs.ControlPlane == image):
		return hcp.Annotations[annotation]
	}
	return ""
}

// Record records in the status which releases the cluster has run, runs and will
// run. reports is the HostedControlPlane if its reports are about the present spec,
// nil otherwise.
func (s *State) Record(hc *hyperv1.HostedCluster, reports *hyperv1.HostedControlPlane, now time.Time) {
	if s.Release == nil || s.Images.Release == "" {
		return
	}
	at := metav1.NewTime(now.Truncate(time.Second))
	v := hc.Status.Version
	if v == nil {
		v = &hyperv1.ClusterVersionStatus{}
	}
	v.Desired = configv1.Release{Version: s.Release.Version, Image: s.Images.Release}
	v.History = versionhistory.Advance(v.History, v.Desired, rolledOut(reports, v.Desired), at)
	if !s.Held {
		v.ObservedGeneration = hc.Generation
	}
	hc.Status.Version = v
	hc.Status.PayloadArch = s.Release.Architecture
	s.recordControlPlane(hc, reports, at)
}

// recordControlPlane records the same for the components in the management cluster.
func (s *State) recordControlPlane(hc *hyperv1.HostedCluster, reports *hyperv1.HostedControlPlane, at metav1.Time) {
	cluster := configv1.Release{Version: s.Release.Version, Image: s.Images.Release}
	runs := cluster
	if image := s.Images.ControlPlane; image != "" {
		if s.ControlPlane == nil {
			return // its version is not known while it cannot be read
		}
		runs = configv1.Release{Version: s.ControlPlane.Version, Image: image}
	}
	v := hc.Status.ControlPlaneVersion
	if v == nil {
		v = &hyperv1.ControlPlaneVersionStatus{}
	}
	complete := rolledOut(reports, cluster) // earlier versions of the control-plane-operator report one history for both
	if reports != nil && reports.Status.ControlPlaneVersion != nil {
		complete = completed(versionhistory.Updates(reports.Status.ControlPlaneVersion.History), runs)
	}
	v.Desired = runs
	v.History = versionhistory.AdvanceControlPlane(v.History, runs, complete, at)
	if !s.Held {
		v.ObservedGeneration = hc.Generation
	}
	hc.Status.ControlPlaneVersion = v
}

// rolledOut reports whether all of the cluster runs the release.
func rolledOut(reports *hyperv1.HostedControlPlane, rel configv1.Release) bool {
	return reports != nil && reports.Status.VersionStatus != nil && completed(reports.Status.VersionStatus.History, rel)
}

// completed reports whether the newest entry of a history is this release, and
// complete. The image is not sufficient, because a tag may have moved.
func completed(history []configv1.UpdateHistory, rel configv1.Release) bool {
	return len(history) > 0 && history[0].State == configv1.CompletedUpdate && history[0].Image == rel.Image && history[0].Version == rel.Version
}

// RollingOut returns the version that is being rolled out, empty without a rollout.
func RollingOut(st *hyperv1.HostedClusterStatus) string {
	if v := st.Version; v != nil && len(v.History) > 0 && v.History[0].State == configv1.PartialUpdate {
		return v.History[0].Version
	}
	if v := st.ControlPlaneVersion; v != nil && len(v.History) > 0 && v.History[0].State == configv1.PartialUpdate {
		return v.History[0].Version
	}
	return ""
}

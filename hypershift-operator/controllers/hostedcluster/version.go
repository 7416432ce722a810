package hostedcluster

import (
	"cmp"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/history"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// checkVersion refuses versions that we cannot run, and steps that a control
// plane cannot take.
func checkVersion(hc *hyperv1.HostedCluster, wanted string) error {
	if hc.Annotations[hyperv1.SkipReleaseImageValidationAnnotation] == "true" {
		return nil
	}
	line, known := release.LineOf(wanted)
	if !known || !line.Supported() {
		return flow.Block(hyperv1.UnsupportedVersionReason, "version %s cannot be hosted by this version of the operators, which know %s: choose such a release", wanted, release.Window())
	}
	image := hc.Spec.Release.Image
	if hc.Annotations[hyperv1.ForceUpgradeToAnnotation] == image || hc.Status.Version == nil {
		return nil
	}
	history := hc.Status.Version.History
	if len(history) > 0 && history[0].Image == image && history[0].Version == wanted {
		return nil // it has taken the step
	}
	why := checkStep(line, history)
	if why == "" {
		return nil
	}
	return flow.Block(hyperv1.UnsupportedUpgradeReason, "the cluster cannot go to version %s: %s; to do it all the same, set annotation %s to %s",
		wanted, why, hyperv1.ForceUpgradeToAnnotation, image)
}

// checkArchitecture refuses a payload that the nodes of the control plane
// cannot run. Unless the cluster says which nodes these are, they are like the
// one that we run on.
func checkArchitecture(hc *hyperv1.HostedCluster, rel *release.Release, ours string) error {
	arch := hyperv1.Architecture(cmp.Or(string(hc.Spec.NodeSelector[corev1.LabelArchStable]), ours))
	if rel.Carries(arch) || hc.Annotations[hyperv1.SkipReleaseImageValidationAnnotation] == "true" {
		return nil
	}
	return flow.Block(hyperv1.UnsupportedArchitectureReason, "release %s has images for %s only, and its control plane would run on nodes of architecture %s: choose a release for several architectures, or for %s, or nodes of another one with spec.nodeSelector", rel.Version, rel.Architecture, arch, arch)
}

// checkStep says why a line cannot follow what the control plane has run. A
// version that is only partly there counts for a step back, since it may have
// written its data, and not for a step ahead, since it may not have converted
// what the version before it wrote. Back to an older patch is no step back:
// within a minor version the data stay the same.
func checkStep(to release.Line, history []configv1.UpdateHistory) string {
	ran := slices.IndexFunc(history, func(h configv1.UpdateHistory) bool { return h.State == configv1.CompletedUpdate })
	if ran < 0 {
		return "" // no API server has served yet, so that there are no data
	}
	for _, h := range history[:ran+1] {
		from, known := release.LineOf(h.Version)
		switch {
		case !known:
		case from.Family != to.Family:
			return "it runs " + string(from.Family) + " " + h.Version + ", which is something else"
		case to.Number < from.Number:
			return "a step back from " + h.Version + ", whose data an older minor version cannot read"
		case h.State == configv1.CompletedUpdate && to.Number > from.Number+1:
			return "it runs " + h.Version + ", and each minor version in between has to be rolled out completely first"
		}
	}
	return ""
}

// recordVersion tells which release the cluster runs, comes from and goes to.
func (s *scope) recordVersion(now time.Time) {
	if s.release == nil || s.releaseImage == "" || s.dying() {
		return
	}
	v := s.hc.Status.Version
	if v == nil {
		v = &hyperv1.ClusterVersionStatus{}
	}
	v.Desired = configv1.Release{Version: s.release.Version, Image: s.releaseImage}
	v.History = history.Advance(v.History, v.Desired, s.rolledOut(), metav1.NewTime(now.Truncate(time.Second)))
	if !s.held {
		v.ObservedGeneration = s.hc.Generation
	}
	s.hc.Status.Version = v
	// The control plane has no release of its own yet.
	s.hc.Status.ControlPlaneVersion = controlPlaneVersion(v)
	s.hc.Status.PayloadArch = s.release.Architecture
}

// rolledOut says that all of the control plane runs the release that it was told to run.
func (s *scope) rolledOut() bool {
	if !s.told || s.silence != "" || s.hcp == nil || s.hcp.Status.VersionStatus == nil {
		return false
	}
	history := s.hcp.Status.VersionStatus.History
	return len(history) > 0 && history[0].State == configv1.CompletedUpdate &&
		history[0].Image == s.releaseImage && history[0].Version == s.release.Version // a tag may have moved
}

// controlPlaneVersion says the same of the management side.
func controlPlaneVersion(v *hyperv1.ClusterVersionStatus) *hyperv1.ControlPlaneVersionStatus {
	out := &hyperv1.ControlPlaneVersionStatus{Desired: v.Desired, ObservedGeneration: v.ObservedGeneration}
	for _, h := range v.History {
		out.History = append(out.History, hyperv1.ControlPlaneUpdateHistory{
			State: h.State, StartedTime: h.StartedTime, CompletionTime: h.CompletionTime, Version: h.Version, Image: h.Image,
		})
	}
	return out
}

// rollingOut is the version that is on its way, empty if there is none.
func rollingOut(hc *hyperv1.HostedCluster) string {
	if v := hc.Status.Version; v != nil && len(v.History) > 0 && v.History[0].State == configv1.PartialUpdate {
		return v.History[0].Version
	}
	return ""
}

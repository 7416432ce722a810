package clusterrelease

import (
	"cmp"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/versionhistory"
)

// maxSkew is how many minor versions of Kubernetes the control plane may be newer than the nodes.
// https://kubernetes.io/releases/version-skew-policy/#kubelet
const maxSkew = 3

// A step is a change of version.
type step struct {
	// what names the part that changes its version, and field is where the user chooses the image.
	what, field    string
	image, version string
	// history lists the previous versions, newest first.
	history []configv1.UpdateHistory
	// taken is true when the step has been taken although the history does not have
	// it.
	taken bool
}

// clusterStep returns the step of the cluster to its release.
func clusterStep(hc *hyperv1.HostedCluster, to *release.Release) step {
	st := step{what: "the cluster", field: releaseField, image: hc.Spec.Release.Image, version: to.Version}
	if v := hc.Status.Version; v != nil {
		st.history = v.History
	}
	return st
}

// controlPlaneStep is the step of the control plane: its data determine the
// possible next steps. It is checked in addition to the cluster's step where the two releases differ,
// or did. Earlier versions of the control-plane-operator did not report their release: for them, the
// images in the spec count as rolled out.
func controlPlaneStep(c Cluster, field, image string, to *release.Release) step {
	st := step{what: "the control plane", field: field, image: image, version: to.Version}
	if v := c.HostedCluster.Status.ControlPlaneVersion; v != nil {
		st.history = versionhistory.Updates(v.History)
	}
	runs := running(c.ControlPlane)
	st.taken = c.ControlPlane != nil && c.ControlPlane.Status.ControlPlaneVersion == nil && image == cmp.Or(runs.ControlPlane, runs.Release)
	return st
}

// checkVersion blocks versions that the operators do not support, and steps that a
// control plane cannot take.
func checkVersion(hc *hyperv1.HostedCluster, to step) error {
	if hc.Annotations[hyperv1.SkipReleaseImageValidationAnnotation] == "true" {
		return nil
	}
	line, valid := release.LineOf(to.version)
	if line.Family == release.OpenShift {
		return reconcile.Block(hyperv1.UnsupportedVersionReason, "version %s is one of OpenShift, whose components this version of the operators cannot run: choose a release of %s in %s", to.version, release.Window(), to.field)
	}
	if !valid || !line.Supported() {
		return reconcile.Block(hyperv1.UnsupportedVersionReason, "version %s cannot be hosted by this version of the operators, which know %s: choose such a release in %s", to.version, release.Window(), to.field)
	}
	if hc.Annotations[hyperv1.ForceUpgradeToAnnotation] == to.image || to.taken {
		return nil
	}
	if len(to.history) > 0 && to.history[0].Image == to.image && to.history[0].Version == to.version {
		return nil // it has taken the step
	}
	reason := checkStep(line, to.history)
	if reason == "" {
		return nil
	}
	return reconcile.Block(hyperv1.UnsupportedUpgradeReason, "%s cannot go to version %s: %s; choose another %s, or to do it all the same, set annotation %s to %s",
		to.what, to.version, reason, to.field, hyperv1.ForceUpgradeToAnnotation, to.image)
}

// checkEtcdStep blocks a step of etcd that skips a minor version, or goes back one: etcd supports neither.
// https://etcd.io/docs/v3.6/upgrades/
func checkEtcdStep(hc *hyperv1.HostedCluster, field string, from, to *release.Release) error {
	if hc.Annotations[hyperv1.SkipReleaseImageValidationAnnotation] == "true" || hc.Annotations[hyperv1.ForceUpgradeToAnnotation] == to.Image {
		return nil
	}
	runs, err := version.ParseSemantic(from.EtcdVersion)
	wanted, wantedErr := version.ParseSemantic(to.EtcdVersion)
	if err != nil || wantedErr != nil {
		return nil
	}
	reason := ""
	switch {
	case wanted.Major() != runs.Major():
		reason = "which is another major version"
	case wanted.Minor() < runs.Minor():
		reason = "which cannot read its data"
	case wanted.Minor() > runs.Minor()+1:
		reason = "and each minor version in between has to be rolled out completely first"
	}
	if reason == "" {
		return nil
	}
	return reconcile.Block(hyperv1.UnsupportedUpgradeReason, "the control plane cannot go to release %s: it runs etcd %s, and that release has etcd %s, %s; choose another %s, or to do it all the same, set annotation %s to %s",
		to.Version, runs, wanted, reason, field, hyperv1.ForceUpgradeToAnnotation, to.Image)
}

// checkSkew blocks a control plane with a version that does not fit the nodes of the
// cluster.
func checkSkew(hc *hyperv1.HostedCluster, cluster, controlPlane *release.Release) error {
	if hc.Annotations[hyperv1.SkipReleaseImageValidationAnnotation] == "true" {
		return nil
	}
	nodes, err := version.ParseSemantic(cluster.KubernetesVersion)
	if err != nil {
		return reconcile.Block(hyperv1.UnsupportedVersionReason, "release %s names no version of Kubernetes (%q): choose another %s", cluster.Version, cluster.KubernetesVersion, releaseField)
	}
	control, err := version.ParseSemantic(controlPlane.KubernetesVersion)
	if err != nil {
		return reconcile.Block(hyperv1.UnsupportedVersionReason, "release %s names no version of Kubernetes (%q): choose another %s", controlPlane.Version, controlPlane.KubernetesVersion, controlPlaneReleaseField)
	}
	switch {
	case control.LessThan(nodes):
		return reconcile.Block(hyperv1.UnsupportedVersionReason, "the control plane would run Kubernetes %s and the nodes' components %s, which must not be newer: choose a newer %s, or remove it",
			control, nodes, controlPlaneReleaseField)
	case control.Major() != nodes.Major() || control.Minor() > nodes.Minor()+maxSkew:
		return reconcile.Block(hyperv1.UnsupportedVersionReason, "the control plane would run Kubernetes %s and the nodes' components %s, which may be %d minor versions older at most: upgrade %s first",
			control, nodes, maxSkew, releaseField)
	}
	return nil
}

// checkArchitecture blocks a payload that the nodes of the control plane cannot run.
// Unless the cluster names these nodes, they have the architecture of this process.
func checkArchitecture(hc *hyperv1.HostedCluster, rel *release.Release, ours string) error {
	arch := hyperv1.Architecture(cmp.Or(string(hc.Spec.NodeSelector[corev1.LabelArchStable]), ours))
	if rel.Carries(arch) || hc.Annotations[hyperv1.SkipReleaseImageValidationAnnotation] == "true" {
		return nil
	}
	return reconcile.Block(hyperv1.UnsupportedArchitectureReason, "release %s has images for %s only, and its control plane would run on nodes of architecture %s: choose a release for several architectures, or for %s, or nodes of another one with spec.nodeSelector", rel.Version, rel.Architecture, arch, arch)
}

// checkStep returns why a line cannot follow the lines that the control plane has run. A
// version that is partly rolled out counts for a downgrade, since it may have
// written its data, and not for an upgrade, since it may not have converted the data
// of the version before it. An older patch is no downgrade: within a minor version
// the data stay the same.
func checkStep(to release.Line, history []configv1.UpdateHistory) string {
	ran := slices.IndexFunc(history, func(h configv1.UpdateHistory) bool { return h.State == configv1.CompletedUpdate })
	if ran < 0 {
		return "" // no API server has served yet, so that there are no data
	}
	for _, h := range history[:ran+1] {
		from, valid := release.LineOf(h.Version)
		switch {
		case !valid:
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

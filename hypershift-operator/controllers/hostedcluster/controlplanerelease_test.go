package hostedcluster

import (
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/versionhistory"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

const (
	ownOlder  = "example.test/own:1.34.1"
	ownPatch  = "example.test/own:1.35.9"
	ownNewer  = "example.test/own:1.36.3"
	ownFamily = "example.test/own:4.19.0"
)

// own sets the release of the control plane; "" removes it.
func (e *managementCluster) own(image string, edit ...func(*hyperv1.HostedCluster)) {
	e.T.Helper()
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.ControlPlaneRelease = nil
		if image != "" {
			hc.Spec.ControlPlaneRelease = &hyperv1.Release{Image: image}
		}
		for _, e := range edit {
			e(hc)
		}
	})
}

// reports lets the control plane report its release.
func (e *managementCluster) reports(image, version string) {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
		e.T.Fatal("there is no control plane")
	}
	v := ptr.Deref(hcp.Status.ControlPlaneVersion, hyperv1.ControlPlaneVersionStatus{})
	v.Desired = configv1.Release{Image: image, Version: version}
	v.History = versionhistory.AdvanceControlPlane(v.History, v.Desired, true, metav1.NewTime(e.Clock.Now()))
	hcp.Status.ControlPlaneVersion = &v
	e.UpdateStatus(hcp)
}

// wantOwn compares the control plane's requested image, and its reported versions, newest first.
func (e *managementCluster) wantOwn(image string, versions ...string) {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	e.Has(hcp, "demo")
	if got := ptr.Deref(hcp.Spec.ControlPlaneReleaseImage, ""); got != image {
		e.T.Errorf("the control plane is asked to run %q, want %q", got, image)
	}
	hc := e.hc()
	var got []string
	for _, h := range hc.Status.ControlPlaneVersion.History {
		prefix := ""
		if h.State == configv1.PartialUpdate {
			prefix = "~"
		}
		got = append(got, prefix+h.Version)
	}
	if strings.Join(got, " ") != strings.Join(versions, " ") {
		e.T.Errorf("status.controlPlaneVersion has %v, want %v", got, versions)
	}
	if h := hc.Status.Version.History; len(h) != 1 || h[0].Version != "1.35.4" || h[0].State != configv1.CompletedUpdate {
		e.T.Errorf("status.version is %+v, want 1.35.4 alone", h)
	}
}

// both returns a running cluster with a control plane that reports its version, and adds releases for the control plane alone.
func both(t *testing.T) (e *managementCluster, pass func(*testing.T)) {
	e, pass = running(t)
	e.reports(firstRelease, "1.35.4")
	pass(t)
	for image, version := range map[string]string{ownOlder: "1.34.1", ownPatch: "1.35.9", ownNewer: "1.36.3", ownFamily: "4.19.0"} {
		e.releases.Put(fakerelease.Kubernetes(image, version))
	}
	return e, pass
}

func TestTheControlPlaneReleasePassesTheGatesOfTheRelease(t *testing.T) {
	for name, c := range map[string]struct {
		image  string
		fail   func(*fakerelease.Registry)
		status metav1.ConditionStatus
		reason string
		words  string
	}{
		"a minor version back":      {image: ownOlder, status: metav1.ConditionFalse, reason: hyperv1.UnsupportedUpgradeReason, words: "the control plane cannot go to version 1.34.1: a step back from 1.35.4"},
		"another family":            {image: ownFamily, status: metav1.ConditionFalse, reason: hyperv1.UnsupportedVersionReason, words: "is one of OpenShift"},
		"an image that is missing":  {image: "example.test/own:none", status: metav1.ConditionFalse, reason: hyperv1.ReleaseImageNotFoundReason, words: "choose another spec.controlPlaneRelease.image"},
		"a version that is too new": {image: ownNewer, fail: func(r *fakerelease.Registry) { r.Put(fakerelease.Kubernetes(ownNewer, "1.40.0")) }, status: metav1.ConditionFalse, reason: hyperv1.UnsupportedVersionReason, words: "choose such a release in spec.controlPlaneRelease.image"},
		"another architecture": {image: ownPatch, fail: func(r *fakerelease.Registry) {
			r.Put(fakerelease.With(fakerelease.Kubernetes(ownPatch, "1.35.9"), func(rel *release.Release) { rel.Architecture = hyperv1.S390X }))
		}, status: metav1.ConditionFalse, reason: hyperv1.UnsupportedArchitectureReason, words: "release 1.35.9 has images for S390X only"},
		"a registry that does not answer": {image: ownPatch, fail: func(r *fakerelease.Registry) { r.Fail(ownPatch, release.Unreachable, "no answer in time") }, status: metav1.ConditionUnknown, reason: hyperv1.RegistryUnreachableReason, words: "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			e, pass := both(t)
			if c.fail != nil {
				c.fail(e.releases)
			}
			e.own(c.image, func(hc *hyperv1.HostedCluster) { hc.Spec.Channel = "other" })
			pass(t)
			pass(t)
			e.ExpectCondition(hyperv1.ValidReleaseImage, c.status, c.reason, c.words)
			e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
			e.wantControlPlane("false", firstRelease)
			e.wantOwn("", "1.35.4")
			hcp := &hyperv1.HostedControlPlane{}
			if e.Has(hcp, "demo"); hcp.Spec.Channel != "other" {
				t.Error("another change was not handed on")
			}
		})
	}
}

func TestTheControlPlaneReleaseHasItsOwnHistory(t *testing.T) {
	e, pass := both(t)
	e.wantOwn("", "1.35.4")
	e.own(ownNewer)
	pass(t)
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.wantOwn(ownNewer, "~1.36.3", "1.35.4")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "version 1.36.3 is being rolled out")
	e.reports(ownNewer, "1.36.3")
	pass(t)
	e.wantOwn(ownNewer, "1.36.3", "1.35.4")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.AsExpectedReason, "")

	// Without it the control plane would go back to the release of the cluster.
	e.own("")
	pass(t)
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionFalse, hyperv1.UnsupportedUpgradeReason, "the control plane cannot go to version 1.35.4: a step back from 1.36.3")
	e.wantOwn(ownNewer, "1.36.3", "1.35.4")
	e.own("", annotate(hyperv1.ForceUpgradeToAnnotation, firstRelease))
	pass(t)
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.wantOwn("", "~1.35.4", "1.36.3", "1.35.4")
}

func TestTheControlPlanesOwnReleaseRunsByTheDigestThatWasChecked(t *testing.T) {
	e, pass := both(t)
	want := func(cluster, own string) {
		t.Helper()
		hcp := &hyperv1.HostedControlPlane{}
		e.Has(hcp, "demo")
		a := hcp.Annotations
		if a[hyperv1.ReleaseDigestAnnotation] != cluster || a[hyperv1.ControlPlaneReleaseDigestAnnotation] != own {
			t.Errorf("digests %q and %q, want %q and %q", a[hyperv1.ReleaseDigestAnnotation], a[hyperv1.ControlPlaneReleaseDigestAnnotation], cluster, own)
		}
	}
	want("sha256:1.35.4", "")
	e.own(ownPatch)
	pass(t)
	pass(t)
	want("sha256:1.35.4", "sha256:1.35.9")

	// Both tags move to releases that do not pass, and the user wants another release that does not pass.
	e.releases.Put(fakerelease.Kubernetes(ownPatch, "1.34.0"))
	e.releases.Put(fakerelease.Kubernetes(firstRelease, "1.34.0"))
	pass(t)
	want("sha256:1.35.4", "sha256:1.35.9")
	e.own("example.test/own:none")
	pass(t)
	pass(t)
	e.wantOwn(ownPatch, "~1.35.9", "1.35.4")
	want("sha256:1.35.4", "sha256:1.35.9")
	e.own("", func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = nextRelease })
	pass(t)
	pass(t)
	want("sha256:1.36.3", "")
}

// Before this version the control plane's release was neither checked nor reported.
func TestAControlPlaneThatWasTakenBackBeforeKeepsRunningAndIsReported(t *testing.T) {
	e, pass := running(t)
	e.releases.Put(fakerelease.Kubernetes(ownOlder, "1.34.1"))
	e.own(ownOlder)
	hcp := &hyperv1.HostedControlPlane{}
	e.Has(hcp, "demo")
	hcp.Spec.ControlPlaneReleaseImage = ptr.To(ownOlder)
	e.Update(hcp)
	pass(t)
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionFalse, hyperv1.UnsupportedVersionReason, "choose a newer spec.controlPlaneRelease.image, or remove it")
	e.reports(ownOlder, "1.34.1")
	pass(t)
	e.wantOwn(ownOlder, "1.34.1", "1.35.4")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

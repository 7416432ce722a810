package hostedcluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

const (
	firstRelease = "example.test/release:1" // 1.35.4
	nextRelease  = "example.test/release:2" // 1.36.3
)

// rollsOut lets the control plane say how far it is with a release.
func (e *managementCluster) rollsOut(image, version string, state configv1.UpdateState) {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
		e.T.Fatal("there is no control plane")
	}
	hcp.Status.VersionStatus = versionStatus(image, version, state)
	e.UpdateStatus(hcp)
}

func versionStatus(image, version string, state configv1.UpdateState) *hyperv1.ClusterVersionStatus {
	return &hyperv1.ClusterVersionStatus{
		Desired: configv1.Release{Image: image, Version: version},
		History: []configv1.UpdateHistory{{Image: image, Version: version, State: state}},
	}
}

// past is a history of versions, newest first; one with a ~ was never completed.
func past(versions ...string) []configv1.UpdateHistory {
	var history []configv1.UpdateHistory
	for _, v := range versions {
		h := configv1.UpdateHistory{State: configv1.CompletedUpdate, Version: strings.Trim(v, "~"), Image: "image:" + strings.Trim(v, "~")}
		if strings.HasPrefix(v, "~") {
			h.State = configv1.PartialUpdate
		}
		history = append(history, h)
	}
	return history
}

// wantHistory compares the versions of the cluster's history, as past writes them.
func (e *managementCluster) wantHistory(want ...string) {
	e.T.Helper()
	hc := e.hc()
	v, c := hc.Status.Version, hc.Status.ControlPlaneVersion
	if v == nil || c == nil || len(v.History) != len(want) || len(c.History) != len(want) {
		e.T.Fatalf("history is %+v, that of the control plane %+v, want %s", v, c, want)
	}
	if v.Desired.Version != v.History[0].Version || v.Desired.Image != v.History[0].Image || c.Desired.Image != v.Desired.Image {
		e.T.Errorf("desired is %+v and %+v with history %+v", v.Desired, c.Desired, v.History)
	}
	for i, h := range past(want...) {
		if got := v.History[i]; got.Version != h.Version || got.State != h.State || c.History[i].Version != h.Version || c.History[i].State != h.State {
			e.T.Errorf("%d: %+v, want %s %s", i, got, h.State, h.Version)
		}
	}
}

// choose sets the release; edit may do more.
func (e *managementCluster) choose(image string, edit ...func(*hyperv1.HostedCluster)) {
	e.T.Helper()
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.Release.Image = image
		for _, e := range edit {
			e(hc)
		}
	})
}

func annotate(key, value string) func(*hyperv1.HostedCluster) {
	return func(hc *hyperv1.HostedCluster) { metav1.SetMetaDataAnnotation(&hc.ObjectMeta, key, value) }
}

func TestARejectedReleaseIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		fail    func(*fakerelease.Registry)
		status  metav1.ConditionStatus
		reason  string
		words   string
		blocked bool
	}{
		"there is none": {
			func(r *fakerelease.Registry) { r.Fail(firstRelease, release.NotFound, "answered 404") },
			metav1.ConditionFalse, hyperv1.ReleaseImageNotFoundReason, "release image example.test/release:1 does not exist: answered 404: choose another", true,
		},
		"the pull secret is not good for it": {
			func(r *fakerelease.Registry) { r.Fail(firstRelease, release.Denied, "answered 401") },
			metav1.ConditionFalse, hyperv1.ReleaseImageDeniedReason, "to Secret my-pull-secret, which spec.pullSecret names", true,
		},
		"it is something else": {
			func(r *fakerelease.Registry) { r.Fail(firstRelease, release.NotRelease, "it has no files") },
			metav1.ConditionFalse, hyperv1.InvalidImageReason, "is not a release payload", true,
		},
		"it is of a repository that is not accepted": {
			func(r *fakerelease.Registry) {
				r.Fail(firstRelease, release.NotAllowed, "releases come from quay.io/vendor")
			},
			metav1.ConditionFalse, hyperv1.ReleaseImageNotAllowedReason, "releases come from quay.io/vendor: choose such a release", true,
		},
		"it has no trusted signature": {
			func(r *fakerelease.Registry) { r.Fail(firstRelease, release.NotSigned, "none of the keys") },
			metav1.ConditionFalse, hyperv1.ReleaseImageNotSignedReason, "choose a release of your vendor", true,
		},
		"it names an image that does not exist": {
			func(r *fakerelease.Registry) {
				r.Fail(firstRelease, release.Incomplete, "looking up its component etcd")
			},
			metav1.ConditionFalse, hyperv1.MissingReleaseImagesReason, "component etcd: choose another", true,
		},
		"it has no tunnel server": {
			func(r *fakerelease.Registry) {
				r.Put(fakerelease.With(fakerelease.Kubernetes(firstRelease, "1.35.4"), func(rel *release.Release) { delete(rel.Components, names.KonnectivityServerImage) }))
			},
			metav1.ConditionFalse, hyperv1.MissingReleaseImagesReason, "has no image for konnectivity-server: choose a complete release", true,
		},
		"its name cannot be one": {
			func(r *fakerelease.Registry) { r.Fail(firstRelease, release.InvalidReference, "write it so") },
			metav1.ConditionFalse, hyperv1.InvalidImageReason, "is not the name of an image", true,
		},
		"it is too old": {
			func(r *fakerelease.Registry) { r.Put(fakerelease.Kubernetes(firstRelease, "1.20.0")) },
			metav1.ConditionFalse, hyperv1.UnsupportedVersionReason, "which know Kubernetes 1.34 to 1.37: choose", true,
		},
		"nobody answers": {
			func(r *fakerelease.Registry) { r.Fail(firstRelease, release.Unreachable, "connection refused") },
			metav1.ConditionUnknown, hyperv1.RegistryUnreachableReason, "release image example.test/release:1 could not be read: connection refused", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newManagementCluster(t)
			c.fail(e.releases)
			e.Restart()
			for range 4 {
				// A missing answer is retried with back-off; the rest is not retried at once.
				if err := e.Try(); (err != nil) != release.IsUnreachable(err) {
					t.Fatal(err)
				}
				e.Clock.Step(20 * time.Second)
			}
			e.ExpectCondition(hyperv1.ValidReleaseImage, c.status, c.reason, c.words)
			e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, c.reason, hyperv1.ValidReleaseImage+": ")
			if c.blocked {
				e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, hyperv1.ValidReleaseImage+": ")
			} else {
				e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, hyperv1.ValidReleaseImage+": ")
			}
			if e.Has(&hyperv1.HostedControlPlane{}, "demo") {
				t.Error("a control plane is made from it")
			}
			hc := e.hc()
			if hc.Status.Version != nil {
				t.Errorf("there is a version: %+v", hc.Status.Version)
			}
			if _ = e.Try(); !e.unchanged(hc) {
				t.Error("the same problem is written again")
			}

			e.releases.Fail(firstRelease, "", "")
			e.releases.Put(fakerelease.Kubernetes(firstRelease, "1.35.4"))
			e.Run(5)
			e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
			e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
		})
	}
}

func (e *managementCluster) unchanged(was *hyperv1.HostedCluster) bool {
	e.T.Helper()
	hc := e.hc()
	if diff := cmp.Diff(was, hc, cmpopts.IgnoreUnexported(hyperv1.HostedCluster{})); diff != "" {
		e.T.Logf("(-before +after):\n%s", diff)
	}
	return hc.ResourceVersion == was.ResourceVersion
}

func TestTheControlPlaneRunsTheDigestThatWasChecked(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	if got := e.releaseDigest(); got != "sha256:1.35.4" {
		t.Errorf("the control plane runs digest %q", got)
	}
	// The tag moves to an image that does not pass.
	e.releases.Fail(firstRelease, release.NotSigned, "none of the keys")
	e.Run(2)
	if got := e.releaseDigest(); got != "sha256:1.35.4" {
		t.Errorf("after the tag has moved the control plane runs digest %q", got)
	}
	e.choose(nextRelease)
	e.Run(2)
	if got := e.releaseDigest(); got != "sha256:1.36.3" {
		t.Errorf("after the upgrade the control plane runs digest %q", got)
	}
}

func (e *managementCluster) releaseDigest() string {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	e.Has(hcp, "demo")
	return hcp.Annotations[hyperv1.ReleaseDigestAnnotation]
}

func TestAnUpgrade(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.wantHistory("~1.35.4")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "version 1.35.4 is being rolled out")
	e.rollsOut(firstRelease, "1.35.4", configv1.CompletedUpdate)
	e.Run(1)
	e.wantHistory("1.35.4")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.AsExpectedReason, "")

	e.choose(nextRelease)
	e.Run(2)
	e.wantControlPlane("false", nextRelease)
	e.wantHistory("~1.36.3", "1.35.4")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "version 1.36.3 is being rolled out")

	e.rollsOut(nextRelease, "1.36.3", configv1.PartialUpdate)
	e.Run(1)
	e.wantHistory("~1.36.3", "1.35.4")
	e.rollsOut(nextRelease, "1.36.3", configv1.CompletedUpdate)
	e.Run(1)
	e.wantHistory("1.36.3", "1.35.4")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.AsExpectedReason, "")
	hc := e.hc()
	if hc.Status.PayloadArch != hyperv1.Multi || hc.Status.Version.History[0].CompletionTime == nil {
		t.Errorf("status is %+v", hc.Status)
	}
	// A completed rollout stays completed, whatever is reported about it later.
	e.rollsOut(nextRelease, "1.36.3", configv1.PartialUpdate)
	e.Run(1)
	e.wantHistory("1.36.3", "1.35.4")
}

// running is a cluster with 1.35.4.
func running(t *testing.T) (e *managementCluster, pass func(*testing.T)) {
	e = newManagementCluster(t)
	e.Run(4)
	e.rollsOut(firstRelease, "1.35.4", configv1.CompletedUpdate)
	e.Run(1)
	return e, func(t *testing.T) {
		t.Helper()
		if err := e.Try(); err != nil && !release.IsUnreachable(err) {
			t.Fatal(err)
		}
		e.RunOthers()
	}
}

func TestARunningClusterKeepsItsReleaseWhileAnotherIsRejected(t *testing.T) {
	const wanted = "example.test/release:3"
	for name, c := range map[string]struct {
		prepare     func(*fakerelease.Registry)
		gate        metav1.ConditionStatus
		reason      string
		progressing metav1.ConditionStatus
	}{
		"the next one does not exist": {func(*fakerelease.Registry) {}, metav1.ConditionFalse, hyperv1.ReleaseImageNotFoundReason, metav1.ConditionFalse},
		"it is a step back": {
			func(r *fakerelease.Registry) { r.Put(fakerelease.Kubernetes(wanted, "1.34.1")) },
			metav1.ConditionFalse, hyperv1.UnsupportedUpgradeReason, metav1.ConditionFalse,
		},
		"it is too new": {
			func(r *fakerelease.Registry) { r.Put(fakerelease.Kubernetes(wanted, "1.38.0")) },
			metav1.ConditionFalse, hyperv1.UnsupportedVersionReason, metav1.ConditionFalse,
		},
		"nobody answers": {
			func(r *fakerelease.Registry) { r.Fail(wanted, release.Unreachable, "no answer in time") },
			metav1.ConditionUnknown, hyperv1.RegistryUnreachableReason, metav1.ConditionTrue,
		},
		"nobody answers for the present one either": {
			func(r *fakerelease.Registry) {
				r.Fail(wanted, release.Unreachable, "no answer in time")
				r.Fail(firstRelease, release.Unreachable, "no answer in time")
			},
			metav1.ConditionUnknown, hyperv1.RegistryUnreachableReason, metav1.ConditionTrue,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, pass := running(t)
			c.prepare(e.releases)
			e.choose(wanted, func(hc *hyperv1.HostedCluster) { hc.Spec.Channel = "other" })
			pass(t)
			pass(t)
			e.ExpectCondition(hyperv1.ValidReleaseImage, c.gate, c.reason, "")
			e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
			e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "everything but the release")
			e.wantStatus(hyperv1.HostedClusterProgressing, c.progressing, hyperv1.ValidReleaseImage+": ")
			e.wantControlPlane("false", firstRelease)
			e.wantHistory("1.35.4")
			// Everything else that the user changes happens.
			hcp := &hyperv1.HostedControlPlane{}
			if e.Has(hcp, "demo"); hcp.Spec.Channel != "other" {
				t.Error("another change was not handed on")
			}
			hc := e.hc()
			if pass(t); !e.unchanged(hc) {
				t.Error("the same problem is written again")
			}

			e.Delete(privateCluster())
			for range 12 {
				pass(t)
				e.Must(e.CollectGarbage(t.Context()))
			}
			e.wantGone(true)
		})
	}
}

func TestAnUnreachableRegistryIsNoProgress(t *testing.T) {
	e, pass := running(t)
	e.releases.Fail(firstRelease, release.Unreachable, "no answer in time")
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionUnknown, hyperv1.RegistryUnreachableReason, "")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.AsExpectedReason, "")
	e.wantHistory("1.35.4")
}

func TestAForcedUpgradeIsAllowed(t *testing.T) {
	const older = "example.test/release:0"
	e, pass := running(t)
	e.releases.Put(fakerelease.Kubernetes(older, "1.34.1"))
	e.choose(older, annotate(hyperv1.ForceUpgradeToAnnotation, nextRelease))
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionFalse, hyperv1.UnsupportedUpgradeReason, "to do it all the same, set annotation hypershift.openshift.io/force-upgrade-to to example.test/release:0")
	e.choose(older, annotate(hyperv1.ForceUpgradeToAnnotation, older))
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.wantControlPlane("false", older)
	e.wantHistory("~1.34.1", "1.35.4")
	// A forced release needs no force any more.
	e.choose(older, func(hc *hyperv1.HostedCluster) { hc.Annotations = nil })
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

func TestSkippedChecksAllowAnyVersion(t *testing.T) {
	const odd = "example.test/release:odd"
	e, pass := running(t)
	e.releases.Put(fakerelease.Kubernetes(odd, "1.12.0"))
	e.choose(odd, annotate(hyperv1.SkipReleaseImageValidationAnnotation, "true"))
	pass(t)
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.wantHistory("~1.12.0", "1.35.4")
}

func TestATagThatMovesIsAnotherRelease(t *testing.T) {
	e, pass := running(t)
	e.releases.Put(fakerelease.Kubernetes(firstRelease, "1.36.3"))
	pass(t)
	e.wantHistory("~1.36.3", "1.35.4")
}

package components

import (
	"cmp"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/versionhistory"
)

// ours are the conditions that this controller writes. Other controllers write others.
var ours = []string{hyperv1.ValidReleaseInfo, hyperv1.HostedControlPlaneDegraded, hyperv1.HostedClusterAsleep}

// statusPart holds the status fields that this controller writes. The fields about
// the update service, in the version status, belong to another controller.
type statusPart struct {
	VersionStatus       *versions                          `json:"versionStatus,omitempty"`
	ControlPlaneVersion *hyperv1.ControlPlaneVersionStatus `json:"controlPlaneVersion,omitempty"`
	KubeletVerification hyperv1.KubeletVerification        `json:"kubeletVerification,omitempty"`
	EtcdRestore         string                             `json:"etcdRestore,omitempty"`
	CertificatesExpire  *metav1.Time                       `json:"certificatesExpire,omitempty"`
	// Deprecated fields, for clients that use them.
	ReleaseImage                   string       `json:"releaseImage,omitempty"`
	LastReleaseImageTransitionTime *metav1.Time `json:"lastReleaseImageTransitionTime,omitempty"`
}

type versions struct {
	Desired            configv1.Release         `json:"desired"`
	History            []configv1.UpdateHistory `json:"history,omitempty"`
	ObservedGeneration int64                    `json:"observedGeneration"`
}

func fields(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{
		ControlPlaneVersion: hcp.Status.ControlPlaneVersion, KubeletVerification: hcp.Status.KubeletVerification, EtcdRestore: hcp.Status.EtcdRestore,
		CertificatesExpire: hcp.Status.CertificatesExpire,
	}
	if v := hcp.Status.VersionStatus; v != nil {
		part.VersionStatus = &versions{Desired: v.Desired, History: v.History, ObservedGeneration: v.ObservedGeneration}
		part.ReleaseImage = v.Desired.Image
		if len(v.History) > 0 {
			part.LastReleaseImageTransitionTime = &v.History[0].StartedTime
		}
	}
	return part
}

func reason(err error) string {
	switch release.KindOf(err) {
	case release.NotFound:
		return hyperv1.ReleaseImageNotFoundReason
	case release.Denied, release.InvalidPullSecret:
		return hyperv1.ReleaseImageDeniedReason
	case release.Unreachable:
		return hyperv1.RegistryUnreachableReason
	case release.InvalidReference, release.NotRelease:
		return hyperv1.InvalidImageReason
	case release.Incomplete:
		return hyperv1.MissingReleaseImagesReason
	}
	return hyperv1.ReconciliationErrorReason
}

func (r *Reconciler) summarize(s *scope, _ reconcile.Report, conditions *reconcile.Conditions) {
	if s.deleting() {
		return
	}
	reportSleep(s, conditions)
	if s.states == nil {
		return
	}
	c := degraded(s.states)
	conditions.Set(c.Type, c.Status, c.Reason, c.Message)
	if !s.paused {
		recordVersion(s, r.Clock.Now())
	}
}

// degraded names the components that have a problem.
func degraded(states []component.State) metav1.Condition {
	c := metav1.Condition{Type: hyperv1.HostedControlPlaneDegraded, Status: metav1.ConditionFalse, Reason: hyperv1.AsExpectedReason}
	var all []string
	for _, s := range states {
		if s.Degraded {
			all = append(all, s.Name+": "+s.Message)
			c.Status, c.Reason = metav1.ConditionTrue, s.Reason
		}
	}
	if len(all) > 1 {
		c.Reason = hyperv1.ComponentsDegradedReason
	}
	c.Message = strings.Join(all, "; ")
	return c
}

// recordVersion records the current and the previous releases of the cluster and of the control plane. A release is complete only when all
// components have it.
func recordVersion(s *scope, now time.Time) {
	done := len(s.states) > 0
	for _, c := range s.states {
		done = done && c.Version == s.runs.Version
	}
	at := metav1.NewTime(now.Truncate(time.Second))
	v := s.hcp.Status.VersionStatus
	if v == nil {
		v = &hyperv1.ClusterVersionStatus{}
	}
	v.Desired = configv1.Release{Version: s.wanted.Version, Image: s.hcp.Spec.ReleaseImage}
	v.History = versionhistory.Advance(v.History, v.Desired, done, at)
	v.ObservedGeneration = s.hcp.Generation
	s.hcp.Status.VersionStatus = v

	c := s.hcp.Status.ControlPlaneVersion
	if c == nil {
		c = &hyperv1.ControlPlaneVersionStatus{}
	}
	c.Desired = configv1.Release{Version: s.runs.Version, Image: cmp.Or(ptr.Deref(s.hcp.Spec.ControlPlaneReleaseImage, ""), s.hcp.Spec.ReleaseImage)}
	c.History = versionhistory.AdvanceControlPlane(c.History, c.Desired, done, at)
	c.ObservedGeneration = s.hcp.Generation
	s.hcp.Status.ControlPlaneVersion = c

	// Certificates are made one after the other. With the history, the time needs no write of its own.
	if done && !s.certificatesExpire.IsZero() {
		s.hcp.Status.CertificatesExpire = &metav1.Time{Time: s.certificatesExpire}
	}
}

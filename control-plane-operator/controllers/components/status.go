package components

import (
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/conditions"
	"github.com/hosted-control-planes/hypershift/internal/flow"
	"github.com/hosted-control-planes/hypershift/internal/history"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// ours are the conditions that this controller writes; others have their own.
var ours = []string{hyperv1.ValidReleaseInfo, hyperv1.HostedControlPlaneDegraded}

// statusPart is the part of the status that this controller writes. Of the
// versions it leaves to others what the update service says.
type statusPart struct {
	VersionStatus       *versions                   `json:"versionStatus,omitempty"`
	KubeletVerification hyperv1.KubeletVerification `json:"kubeletVerification,omitempty"`
	Conditions          []metav1.Condition          `json:"conditions,omitempty"`
}

type versions struct {
	Desired            configv1.Release         `json:"desired"`
	History            []configv1.UpdateHistory `json:"history,omitempty"`
	ObservedGeneration int64                    `json:"observedGeneration"`
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{KubeletVerification: hcp.Status.KubeletVerification}
	if v := hcp.Status.VersionStatus; v != nil {
		part.VersionStatus = &versions{Desired: v.Desired, History: v.History, ObservedGeneration: v.ObservedGeneration}
	}
	for _, t := range ours {
		if c := conditions.Get(hcp.Status.Conditions, t); c != nil {
			part.Conditions = append(part.Conditions, *c)
		}
	}
	return part
}

// judge puts what the registry says into words. What the API server cannot do
// is no statement about the release.
var judge = conditions.Judge{
	Transient: release.IsUnreachable,
	Reason:    reason,
	Message:   func(err error) string { return err.Error() },
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

// summarize turns what the steps learned into the status.
func (r *Reconciler) summarize(s *scope, report flow.Report) {
	if !s.hcp.DeletionTimestamp.IsZero() {
		return
	}
	now := r.Clock.Now()
	status := &s.hcp.Status
	status.Conditions = conditions.FromReport(report, judge, status.Conditions, s.hcp.Generation, now)
	if s.states == nil {
		return
	}
	c := degraded(s.states)
	c.ObservedGeneration = s.hcp.Generation
	conditions.Set(&status.Conditions, c, now)
	if !s.paused {
		recordVersion(s, now)
	}
}

// degraded names the components that are in trouble.
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

// recordVersion tells which release is rolled out, and which ones were. Only
// when all components have it is it complete.
func recordVersion(s *scope, now time.Time) {
	v := s.hcp.Status.VersionStatus
	if v == nil {
		v = &hyperv1.ClusterVersionStatus{}
	}
	done := len(s.states) > 0
	for _, c := range s.states {
		done = done && c.Version == s.runs.Version
	}
	v.Desired = configv1.Release{Version: s.wanted.Version, Image: s.hcp.Spec.ReleaseImage}
	v.History = history.Advance(v.History, v.Desired, done, metav1.NewTime(now.Truncate(time.Second)))
	v.ObservedGeneration = s.hcp.Generation
	s.hcp.Status.VersionStatus = v
}

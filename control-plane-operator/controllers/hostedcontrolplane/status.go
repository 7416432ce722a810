package hostedcontrolplane

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// plain are the conditions that need no judge: what this version does not do
// is said, because a condition that is merely absent would look like a fault.
var plain = []metav1.Condition{
	{Type: hyperv1.ExternalDNSReachable, Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: "this version does not look up the host names of spec.services yet"},
}

// ours are the conditions that this controller writes; others have their own.
var ours = []string{
	hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady, hyperv1.ExternalDNSReachable,
	hyperv1.HostedControlPlanePaused, hyperv1.HostedClusterAvailable,
}

// others are the conditions that Available looks at and others write.
var others = []string{hyperv1.KubeAPIServerAvailable, hyperv1.KubeAPIServerReachable, hyperv1.EtcdAvailable}

// statusPart is the part of the status that this controller writes.
type statusPart struct {
	ExternalManagedControlPlane *bool                `json:"externalManagedControlPlane,omitempty"`
	ControlPlaneEndpoint        *hyperv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
	Conditions                  []metav1.Condition   `json:"conditions,omitempty"`
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{ExternalManagedControlPlane: hcp.Status.ExternalManagedControlPlane}
	if hcp.Status.ControlPlaneEndpoint.Host != "" {
		part.ControlPlaneEndpoint = &hcp.Status.ControlPlaneEndpoint
	}
	for _, t := range ours {
		if c := meta.FindStatusCondition(hcp.Status.Conditions, t); c != nil {
			part.Conditions = append(part.Conditions, *c)
		}
	}
	return part
}

var judge = reconcile.Classifier{Transient: awsx.IsTransient, Reason: awsx.Reason, Message: awsx.Message}

// summarize turns the report into conditions.
func (r *Reconciler) summarize(s *scope, report reconcile.Report) {
	now := r.Clock.Now()
	status := &s.hcp.Status
	status.ExternalManagedControlPlane = ptr.To(true)
	status.Conditions = reconcile.FromReport(report, judge, status.Conditions, s.hcp.Generation, now)
	for _, c := range plain {
		c.ObservedGeneration = s.hcp.Generation
		reconcile.SetCondition(&status.Conditions, c, now)
	}
	reconcile.SetCondition(&status.Conditions, paused(s.paused, s.hcp.Generation), now)
	reconcile.SetCondition(&status.Conditions, available(status.Conditions, s.hcp.Generation), now)
}

func paused(is bool, generation int64) metav1.Condition {
	c := metav1.Condition{Type: hyperv1.HostedControlPlanePaused, Status: metav1.ConditionFalse, Reason: hyperv1.NotPausedReason, ObservedGeneration: generation}
	if is {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, hyperv1.PausedReason, "spec.pausedUntil stops changes"
	}
	return c
}

// available names the first thing that is missing.
func available(conds []metav1.Condition, generation int64) metav1.Condition {
	a := metav1.Condition{Type: hyperv1.HostedClusterAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, ObservedGeneration: generation}
	for _, t := range append([]string{hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady}, others...) {
		c := meta.FindStatusCondition(conds, t)
		if t == hyperv1.KubeAPIServerReachable && (c == nil || c.Status == metav1.ConditionUnknown) {
			continue // where load balancers are not checked, or cannot be reached from here
		}
		if c == nil {
			c = &metav1.Condition{Reason: hyperv1.StatusUnknownReason, Message: "nobody has looked yet"}
		}
		if c.Status != metav1.ConditionTrue {
			a.Status, a.Reason, a.Message = metav1.ConditionFalse, c.Reason, t+": "+c.Message
			break
		}
	}
	return a
}

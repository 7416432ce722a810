package hostedcontrolplane

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// plain are conditions that depend on nothing. A feature that this version does not
// have is reported, because a missing condition would look like a fault.
var plain = []metav1.Condition{
	{Type: hyperv1.ExternalDNSReachable, Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: "this version does not look up the host names of spec.services yet"},
}

// ours are the conditions that this controller writes. Other controllers write others.
var ours = []string{
	hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady, hyperv1.ExternalDNSReachable,
	hyperv1.HostedControlPlanePaused, hyperv1.HostedClusterAvailable,
}

// others are the conditions that Available depends on and other controllers write.
var others = []string{hyperv1.KubeAPIServerAvailable, hyperv1.KubeAPIServerReachable, hyperv1.EtcdAvailable}

// statusPart has the fields of the status that this controller writes.
type statusPart struct {
	ExternalManagedControlPlane *bool                `json:"externalManagedControlPlane,omitempty"`
	ControlPlaneEndpoint        *hyperv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
}

func fields(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{ExternalManagedControlPlane: hcp.Status.ExternalManagedControlPlane}
	if hcp.Status.ControlPlaneEndpoint.Host != "" {
		part.ControlPlaneEndpoint = &hcp.Status.ControlPlaneEndpoint
	}
	return part
}

func summarize(s *scope, _ reconcile.Report, conditions *reconcile.Conditions) {
	s.hcp.Status.ExternalManagedControlPlane = ptr.To(true)
	for _, c := range plain {
		conditions.Set(c.Type, c.Status, c.Reason, c.Message)
	}
	if s.paused {
		conditions.Set(hyperv1.HostedControlPlanePaused, metav1.ConditionTrue, hyperv1.PausedReason, "spec.pausedUntil stops changes")
	} else {
		conditions.Set(hyperv1.HostedControlPlanePaused, metav1.ConditionFalse, hyperv1.NotPausedReason, "")
	}
	if missing := firstMissing(conditions); missing != nil {
		conditions.Set(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, missing.Reason, missing.Type+": "+missing.Message)
	} else {
		conditions.Set(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	}
}

// firstMissing returns the first condition that keeps the control plane from being available.
func firstMissing(conditions *reconcile.Conditions) *metav1.Condition {
	for _, t := range append([]string{hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady}, others...) {
		c := conditions.Get(t)
		if t == hyperv1.KubeAPIServerReachable && (c == nil || c.Status == metav1.ConditionUnknown) {
			continue // where load balancers are not checked, or cannot be reached from here
		}
		if c == nil {
			c = &metav1.Condition{Type: t, Reason: hyperv1.StatusUnknownReason, Message: "waiting for the first health check"}
		}
		if c.Status != metav1.ConditionTrue {
			return c
		}
	}
	return nil
}

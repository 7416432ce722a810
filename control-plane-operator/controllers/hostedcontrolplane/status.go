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
	hyperv1.HostedControlPlanePaused,
}

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
}

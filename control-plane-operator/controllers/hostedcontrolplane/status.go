package hostedcontrolplane

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ours are the conditions that this controller writes. Other controllers write others.
var ours = []string{
	hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady, hyperv1.HostedControlPlanePaused,
}

// statusPart holds the status fields that this controller writes.
type statusPart struct {
	ExternalManagedControlPlane *bool                         `json:"externalManagedControlPlane,omitempty"`
	ControlPlaneEndpoint        *hyperv1.APIEndpoint          `json:"controlPlaneEndpoint,omitempty"`
	ServedEndpointAccess        hyperv1.AWSEndpointAccessType `json:"servedEndpointAccess,omitempty"`
}

func fields(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{ExternalManagedControlPlane: hcp.Status.ExternalManagedControlPlane, ServedEndpointAccess: hcp.Status.ServedEndpointAccess}
	if hcp.Status.ControlPlaneEndpoint.Host != "" {
		part.ControlPlaneEndpoint = &hcp.Status.ControlPlaneEndpoint
	}
	return part
}

func summarize(s *scope, _ reconcile.Report, conditions *reconcile.Conditions) {
	s.hcp.Status.ExternalManagedControlPlane = ptr.To(true)
	if c := conditions.Get(hyperv1.InfrastructureReady); c != nil && c.Status == metav1.ConditionTrue && len(s.moving) > 0 {
		c.Message = "the shared router serves it until its own is ready: " + strings.Join(s.moving, "; ")
	}
	if s.paused {
		conditions.Set(hyperv1.HostedControlPlanePaused, metav1.ConditionTrue, hyperv1.PausedReason, "spec.pausedUntil stops changes")
	} else {
		conditions.Set(hyperv1.HostedControlPlanePaused, metav1.ConditionFalse, hyperv1.NotPausedReason, "")
	}
}

package hostedcontrolplane

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/conditions"
	"github.com/hosted-control-planes/hypershift/internal/flow"
)

// plain are the conditions that need no judge: what this version does not do
// is said, because a condition that is merely absent would look like a fault.
var plain = []metav1.Condition{
	{Type: hyperv1.KubeAPIServerAvailable, Status: metav1.ConditionFalse, Reason: hyperv1.NotDeployedReason, Message: "this version publishes the control plane and does not run its API server yet"},
	{Type: hyperv1.EtcdAvailable, Status: metav1.ConditionFalse, Reason: hyperv1.NotDeployedReason, Message: "this version publishes the control plane and does not run its etcd yet"},
	{Type: hyperv1.ExternalDNSReachable, Status: metav1.ConditionUnknown, Reason: hyperv1.StatusUnknownReason, Message: "this version does not look up the host names of spec.services yet"},
}

// ours are the conditions that this controller writes; the probe has its own.
var ours = []string{
	hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady, hyperv1.EtcdAvailable,
	hyperv1.KubeAPIServerAvailable, hyperv1.ExternalDNSReachable, hyperv1.HostedClusterAvailable,
}

// statusPart is the part of the status that this controller writes.
type statusPart struct {
	Ready                       bool                 `json:"ready"`
	Initialized                 bool                 `json:"initialized"`
	ExternalManagedControlPlane *bool                `json:"externalManagedControlPlane,omitempty"`
	ControlPlaneEndpoint        *hyperv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
	Conditions                  []metav1.Condition   `json:"conditions,omitempty"`
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{Ready: hcp.Status.Ready, Initialized: hcp.Status.Initialized, ExternalManagedControlPlane: hcp.Status.ExternalManagedControlPlane}
	if hcp.Status.ControlPlaneEndpoint.Host != "" {
		part.ControlPlaneEndpoint = &hcp.Status.ControlPlaneEndpoint
	}
	for _, t := range ours {
		if c := conditions.Get(hcp.Status.Conditions, t); c != nil {
			part.Conditions = append(part.Conditions, *c)
		}
	}
	return part
}

var judge = conditions.Judge{Transient: awsx.IsTransient, Reason: awsx.Reason, Message: awsx.Message}

// summarize turns the report into conditions. Ready stays false: nothing here
// runs an API server that could be.
func (r *Reconciler) summarize(s *scope, report flow.Report) {
	now := r.Clock.Now()
	status := &s.hcp.Status
	status.ExternalManagedControlPlane = ptr.To(true)
	status.Conditions = conditions.FromReport(report, judge, status.Conditions, s.hcp.Generation, now)
	for _, c := range plain {
		c.ObservedGeneration = s.hcp.Generation
		conditions.Set(&status.Conditions, c, now)
	}
	conditions.Set(&status.Conditions, available(status.Conditions, s.hcp.Generation), now)
}

// available names the first thing that is missing.
func available(conds []metav1.Condition, generation int64) metav1.Condition {
	a := metav1.Condition{Type: hyperv1.HostedClusterAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, ObservedGeneration: generation}
	for _, t := range []string{hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady, hyperv1.KubeAPIServerAvailable, hyperv1.EtcdAvailable} {
		if c := conditions.Get(conds, t); c != nil && c.Status != metav1.ConditionTrue {
			a.Status, a.Reason, a.Message = metav1.ConditionFalse, c.Reason, t+": "+c.Message
			break
		}
	}
	return a
}

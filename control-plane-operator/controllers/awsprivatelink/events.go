package awsprivatelink

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Reasons of events that are not reasons of the condition. Package ledger has more.
const (
	endpointAvailable = "EndpointAvailable"
	endpointRecreated = "EndpointRecreated"
)

// reportTransition emits an event for each status change of this reconcile.
func (r *Reconciler) reportTransition(es *hyperv1.AWSEndpointService, previous hyperv1.AWSEndpointServiceStatus) {
	if current := es.Status.EndpointID; current != previous.EndpointID && current != "" && previous.EndpointID != "" {
		r.Recorder.Eventf(es, nil, corev1.EventTypeNormal, endpointRecreated, "Connect", "VPC endpoint %s takes the place of %s", current, previous.EndpointID)
	}
	after := meta.FindStatusCondition(es.Status.Conditions, hyperv1.AWSEndpointAvailable)
	kind, reason := transition(meta.FindStatusCondition(previous.Conditions, hyperv1.AWSEndpointAvailable), after)
	switch {
	case kind == "":
	case reason == endpointAvailable:
		r.Recorder.Eventf(es, nil, kind, reason, "Connect", "VPC endpoint %s is available", es.Status.EndpointID)
	default:
		r.Recorder.Eventf(es, nil, kind, reason, "Connect", "%s", after.Message)
	}
}

// transient are the reasons that resolve without a change by the user.
var transient = []string{
	hyperv1.WaitingForControlPlaneReason, hyperv1.WaitingForSigningKeyReason, hyperv1.WaitingForEndpointServiceReason,
	hyperv1.WaitingForSubnetsReason, hyperv1.EndpointPendingReason, hyperv1.EndpointPendingAcceptanceReason,
	hyperv1.EndpointDeletingReason, hyperv1.EndpointDeletedReason, hyperv1.SecurityGroupInUseReason,
}

// transition returns the event for a transition of the condition, if any.
func transition(before, after *metav1.Condition) (kind, reason string) {
	if before == nil {
		before = &metav1.Condition{}
	}
	switch {
	case after == nil || after.Status == metav1.ConditionUnknown:
		return "", ""
	case after.Status == metav1.ConditionTrue && before.Status == metav1.ConditionTrue:
		return "", ""
	case after.Status == metav1.ConditionTrue:
		return corev1.EventTypeNormal, endpointAvailable
	case after.Reason == before.Reason && after.Message == before.Message, slices.Contains(transient, after.Reason):
		return "", ""
	case after.Reason == hyperv1.EndpointReplacedReason:
		return corev1.EventTypeNormal, after.Reason
	}
	return corev1.EventTypeWarning, after.Reason
}

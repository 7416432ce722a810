package workersecuritygroup

import (
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// statusPart has the fields of the status that this controller writes.
type statusPart struct {
	Platform            *hyperv1.PlatformStatus            `json:"platform,omitempty"`
	WorkerSecurityGroup *hyperv1.WorkerSecurityGroupRecord `json:"workerSecurityGroup,omitempty"`
}

// Reasons of events.
const (
	resourceChanged = "AWSResourceChanged"
	changeGivenUp   = "AWSChangeGivenUp"
)

// tell records an event about a change of the group, or about one that was given up.
func (r *Reconciler) tell(hcp *hyperv1.HostedControlPlane, reason, id, what string) {
	kind, action := corev1.EventTypeNormal, "Repair"
	if reason == changeGivenUp {
		kind, action = corev1.EventTypeWarning, "GiveUp"
	}
	r.Recorder.Eventf(hcp, nil, kind, reason, action, "%s: %s", id, what)
}

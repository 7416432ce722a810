package workersecuritygroup

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// statusPart is the part of the status that this controller writes.
type statusPart struct {
	Platform            *hyperv1.PlatformStatus            `json:"platform,omitempty"`
	WorkerSecurityGroup *hyperv1.WorkerSecurityGroupRecord `json:"workerSecurityGroup,omitempty"`
	Conditions          []metav1.Condition                 `json:"conditions,omitempty"`
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	part := statusPart{Platform: hcp.Status.Platform, WorkerSecurityGroup: hcp.Status.WorkerSecurityGroup}
	for _, t := range []string{hyperv1.AWSDefaultSecurityGroupCreated, hyperv1.AWSDefaultSecurityGroupDeleted} {
		if c := meta.FindStatusCondition(hcp.Status.Conditions, t); c != nil {
			part.Conditions = append(part.Conditions, *c)
		}
	}
	return part
}

var judge = reconcile.Classifier{Transient: awsx.IsTransient, Reason: awsx.Reason, Message: awsx.Message}

// summarize turns all steps into the one condition that the user reads: what
// stands in the way first.
func (r *Reconciler) summarize(s *scope, report reconcile.Report) {
	condition := hyperv1.AWSDefaultSecurityGroupCreated
	if !s.hcp.DeletionTimestamp.IsZero() {
		condition = hyperv1.AWSDefaultSecurityGroupDeleted
	}
	status := &s.hcp.Status
	status.Conditions = reconcile.FromReport(report.As(condition), judge, status.Conditions, s.hcp.Generation, r.Clock.Now())
}

// Reasons of events.
const (
	resourceChanged = "AWSResourceChanged"
	changeGivenUp   = "AWSChangeGivenUp"
)

// tell tells a person what was done to the group, or could not be.
func (r *Reconciler) tell(hcp *hyperv1.HostedControlPlane, reason, id, what string) {
	kind, action := corev1.EventTypeNormal, "Repair"
	if reason == changeGivenUp {
		kind, action = corev1.EventTypeWarning, "GiveUp"
	}
	r.Recorder.Eventf(hcp, nil, kind, reason, action, "%s: %s", id, what)
}

package hostedcluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// active is false while the user has stopped everything: that nothing is done
// then says nothing about the cluster.
func active(hc *hyperv1.HostedCluster) bool {
	c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ReconciliationActive)
	return c == nil || c.Status != metav1.ConditionFalse
}

func always(*hyperv1.HostedCluster) bool { return true }

func never(*hyperv1.HostedCluster) bool { return false }

func onAWS(hc *hyperv1.HostedCluster) bool { return awsOf(hc) != nil }

func isPrivate(hc *hyperv1.HostedCluster) bool { return hc.Spec.Platform.PrivateLink() }

var words = reconcile.Classifier{
	// An answer of the API server, such as a conflict, says nothing about the cluster.
	Transient: func(err error) bool {
		return awsx.IsTransient(err) || release.IsUnreachable(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	},
	Reason:  awsx.Reason,
	Message: awsx.Message,
}

// summarize puts what the steps said, and what others say of the cluster, into
// the status.
func (r *Reconciler) summarize(s *scope, report reconcile.Report) {
	b := &board{hc: s.hc, now: metav1.NewTime(r.Clock.Now()), behind: map[string]bool{}, held: s.held}
	was := slices.Clone(s.hc.Status.Conditions)
	s.hc.Status.Conditions = reconcile.FromReport(answers(s, report), words, s.hc.Status.Conditions, s.hc.Generation, b.now.Time)
	for _, condition := range sortedKeys(s.unchecked) {
		c := s.unchecked[condition]
		b.set(condition, metav1.ConditionUnknown, c.Reason, c.Message)
	}
	if s.hc.Spec.Etcd.Unmanaged == nil {
		b.remove(hyperv1.UnmanagedEtcdAvailable)
	}
	b.refused(s)
	s.recordVersion(b.now.Time)
	b.mirror(s)
	b.aggregate(s)
	b.pause(s)
	b.reconciliation(s, report)
	b.unsupported(r.AllowOperatorImageOverride)
	b.networkPolicies(r.PoliciesEnforced)
	b.destruction(s, report)
	b.available(s, report)
	b.rollout(s)
	b.stopped(s)
	steady(was, s.hc.Status.Conditions)
	if s.hcp != nil {
		s.hc.Status.ControlPlaneEndpoint = s.hcp.Status.ControlPlaneEndpoint
		s.hc.Status.Platform = s.hcp.Status.Platform
		s.hc.Status.SecretEncryption = s.hcp.Status.SecretEncryption
	}
	if b.turned != "" {
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, b.turned, "Reconcile", "%s", meta.FindStatusCondition(s.hc.Status.Conditions, hyperv1.HostedClusterAvailable).Message)
	}
}

// steady gives what is as it was its time back: on the way through the summary
// it may have been otherwise for a moment.
func steady(was, is []metav1.Condition) {
	for i := range is {
		if c := meta.FindStatusCondition(was, is[i].Type); c != nil && c.Status == is[i].Status {
			is[i].LastTransitionTime = c.LastTransitionTime
		}
	}
}

// answers is the report without what the steps could not tell.
func answers(s *scope, report reconcile.Report) reconcile.Report {
	report = slices.Clone(report)
	for i := range report {
		if _, unchecked := s.unchecked[report[i].Condition]; unchecked {
			report[i].Condition = ""
		}
	}
	return report
}

// board is the conditions of a cluster while they are being written.
type board struct {
	hc     *hyperv1.HostedCluster
	now    metav1.Time
	turned string // the reason of an event, if Available has turned
	// behind are the mirrored conditions that are about an earlier generation.
	behind map[string]bool
	// held says that the cluster runs a release, and not the one that is wanted.
	held bool
}

func (b *board) get(condition string) *metav1.Condition {
	return meta.FindStatusCondition(b.hc.Status.Conditions, condition)
}

func (b *board) remove(condition string) {
	reconcile.RemoveConditions(&b.hc.Status.Conditions, condition)
}

func (b *board) set(condition string, status metav1.ConditionStatus, reason, message string) {
	reconcile.SetCondition(&b.hc.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: b.hc.Generation,
	}, b.now.Time)
}

// refused reports what is wrong with the configuration and did not stop the pass.
func (b *board) refused(s *scope) {
	if c := b.get(hyperv1.ValidHostedClusterConfiguration); len(s.refused) > 0 && c != nil && c.Status == metav1.ConditionTrue {
		b.set(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, s.refused[0].reason, messages(s.refused))
	}
}

const calm = "All is well"

func (b *board) pause(s *scope) {
	switch until := b.hc.Spec.PausedUntil; {
	case !s.paused:
		b.set(hyperv1.ReconciliationActive, metav1.ConditionTrue, hyperv1.AsExpectedReason, "changes are being acted on")
	case s.dying():
		b.set(hyperv1.ReconciliationActive, metav1.ConditionTrue, hyperv1.DeletingReason, "a pause does not stop the deletion")
	case s.unreadablePause():
		b.set(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason,
			fmt.Sprintf("spec.pausedUntil is %q, which cannot be read, and nothing is changed until it can: write true, false or a time such as 2030-01-31T12:00:00Z, or remove it", *until))
	default:
		b.set(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *until))
	}
}

// reconciliation says whether everything that this pass set out to do is done.
func (b *board) reconciliation(s *scope, report reconcile.Report) {
	if s.paused && !s.dying() {
		b.set(hyperv1.ReconciliationSucceeded, metav1.ConditionUnknown, b.get(hyperv1.ReconciliationActive).Reason, "nothing is changed while spec.pausedUntil stops it")
		return
	}
	reason, messages := "", []string{}
	for _, o := range report {
		if o.Err == nil || apierrors.IsConflict(o.Err) || s.held && o.Condition == hyperv1.ValidReleaseImage {
			continue
		}
		if reason == "" {
			reason = reasonOf(o.Err)
		}
		messages = append(messages, o.Step+": "+awsx.Message(o.Err))
	}
	switch {
	case reason != "":
		b.set(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, reason, strings.Join(messages, "; "))
	case report.Done():
		b.set(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, calm)
	case s.held:
		b.set(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "everything but the release: see "+hyperv1.ValidReleaseImage)
	}
}

// reasonOf is the reason that a step gave itself.
func reasonOf(err error) string {
	var wait *reconcile.Waiting
	var block *reconcile.Blocked
	switch {
	case errors.As(err, &wait):
		return wait.Reason
	case errors.As(err, &block):
		return block.Reason
	}
	return hyperv1.ReconcileErrorReason
}

// unsupported names the fields that are accepted and do nothing yet.
func (b *board) unsupported(allowImage bool) {
	fields := b.hc.NotActedOn()
	if b.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] != "" && !allowImage {
		fields = append(fields, "annotation "+hyperv1.ControlPlaneOperatorImageAnnotation+" (the hypershift-operator was started without --allow-control-plane-operator-image-override)")
	}
	if len(fields) == 0 {
		b.set(hyperv1.SupportedFields, metav1.ConditionTrue, hyperv1.AsExpectedReason, calm)
		return
	}
	b.set(hyperv1.SupportedFields, metav1.ConditionFalse, hyperv1.NotActedOnReason, "accepted, and without effect in this version: "+strings.Join(fields, ", "))
}

package hostedcluster

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

func always(*hyperv1.HostedCluster) bool { return true }

func never(*hyperv1.HostedCluster) bool { return false }

func onAWS(hc *hyperv1.HostedCluster) bool { return awsOf(hc) != nil }

func isPrivate(hc *hyperv1.HostedCluster) bool { return hc.Spec.Platform.PrivateLink() }

var classifier = reconcile.Classifier{
	// An answer of the API server, such as a conflict, is no evidence about the cluster.
	Transient: func(err error) bool {
		return awsx.IsTransient(err) || release.IsUnreachable(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	},
}

// summarize adds the conditions that are not those of one step, and the other fields of the status.
func (r *Reconciler) summarize(s *scope, report reconcile.Report, conditions *reconcile.Conditions) {
	b := &conditionBuilder{Conditions: conditions, hc: s.hc, behind: map[string]bool{}, held: s.held}
	if s.hc.Spec.Etcd.Unmanaged == nil {
		b.Remove(hyperv1.UnmanagedEtcdAvailable)
	}
	b.refused(s)
	s.recordVersion(r.Clock.Now())
	b.mirror(s, report)
	b.aggregate(s)
	b.pause(s)
	b.reconciliation(s, report)
	b.unsupported(r.AllowOperatorImageOverride)
	b.networkPolicies(r.PoliciesEnforced)
	b.destruction(s, report)
	b.available(s, report)
	b.rollout(s)
	b.stopped(s)
	if s.hcp != nil {
		s.hc.Status.ControlPlaneEndpoint = s.hcp.Status.ControlPlaneEndpoint
		s.hc.Status.Platform = s.hcp.Status.Platform
		s.hc.Status.SecretEncryption = s.hcp.Status.SecretEncryption
	}
	if b.turned != "" {
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, b.turned, "Reconcile", "%s", b.Get(hyperv1.HostedClusterAvailable).Message)
	}
}

// A conditionBuilder sets the conditions of a cluster that are not those of one step.
type conditionBuilder struct {
	*reconcile.Conditions
	hc     *hyperv1.HostedCluster
	turned string // the reason of an event, if Available has changed
	// behind are the mirrored conditions that are about an earlier generation.
	behind map[string]bool
	// held is true if the cluster runs a release, and not the desired one.
	held bool
}

// active is false while the user has stopped all changes: then it is no evidence about
// the cluster that nothing is done.
func (b *conditionBuilder) active() bool {
	c := b.Get(hyperv1.ReconciliationActive)
	return c == nil || c.Status != metav1.ConditionFalse
}

// refused reports errors of the configuration that did not stop the reconcile.
func (b *conditionBuilder) refused(s *scope) {
	if c := b.Get(hyperv1.ValidHostedClusterConfiguration); len(s.refused) > 0 && c != nil && c.Status == metav1.ConditionTrue {
		b.Set(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, s.refused[0].reason, messages(s.refused))
	}
}

func (b *conditionBuilder) pause(s *scope) {
	switch until := b.hc.Spec.PausedUntil; {
	case !s.paused:
		b.Set(hyperv1.ReconciliationActive, metav1.ConditionTrue, hyperv1.AsExpectedReason, "changes are being acted on")
	case s.dying():
		b.Set(hyperv1.ReconciliationActive, metav1.ConditionTrue, hyperv1.DeletingReason, "a pause does not stop the deletion")
	case s.unreadablePause():
		b.Set(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason,
			fmt.Sprintf("spec.pausedUntil is %q, which cannot be read, and nothing is changed until it can: write true, false or a time such as 2030-01-31T12:00:00Z, or remove it", *until))
	default:
		b.Set(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *until))
	}
}

// reconciliation reports whether all steps of this reconcile are done.
func (b *conditionBuilder) reconciliation(s *scope, report reconcile.Report) {
	if s.paused && !s.dying() {
		b.Set(hyperv1.ReconciliationSucceeded, metav1.ConditionUnknown, b.Get(hyperv1.ReconciliationActive).Reason, "nothing is changed while spec.pausedUntil stops it")
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
		b.Set(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, reason, strings.Join(messages, "; "))
	case report.Done():
		b.Set(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	case s.held:
		b.Set(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "everything but the release: see "+hyperv1.ValidReleaseImage)
	}
}

// reasonOf is the reason that a step has given.
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
func (b *conditionBuilder) unsupported(allowImage bool) {
	fields := b.hc.NotActedOn()
	if b.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] != "" && !allowImage {
		fields = append(fields, "annotation "+hyperv1.ControlPlaneOperatorImageAnnotation+" (the hypershift-operator was started without --allow-control-plane-operator-image-override)")
	}
	if len(fields) == 0 {
		b.Set(hyperv1.SupportedFields, metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
		return
	}
	b.Set(hyperv1.SupportedFields, metav1.ConditionFalse, hyperv1.NotActedOnReason, "accepted, and without effect in this version: "+strings.Join(fields, ", "))
}

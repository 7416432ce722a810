package hostedcluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/validation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// classify turns errors of steps into conditions. An error of the API server, such
// as a conflict, is no evidence about the cluster.
var classify = reconcile.Classifier{
	Transient: func(err error) bool {
		return awsx.IsTransient(err) || release.IsUnreachable(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	},
	Reason:  awsx.Reason,
	Message: awsx.Message,
}

// facts are everything that the conditions of a HostedCluster are computed from.
// Each condition is a pure function of them and is evaluated once. A function that
// needs another condition evaluates it by its type, so that their order has no
// effect.
type facts struct {
	*scope
	report reconcile.Report
	// steps are the conditions as the steps have left them. Conditions that no step
	// has determined are as they were before.
	steps *reconcile.Conditions
	// imageOverrides is whether users may choose the image of the control-plane-operator.
	imageOverrides bool
	// policies is whether the management cluster enforces NetworkPolicies; empty if
	// this installation does not test it.
	policies metav1.ConditionStatus

	evaluated map[string]metav1.Condition
}

// absent is the result for a condition that the HostedCluster does not have.
var absent metav1.Condition

// evaluators are the conditions of a HostedCluster, each with its function. A type
// that is missing here keeps what the steps have set.
var evaluators map[string]func(*facts) metav1.Condition

func init() {
	evaluators = map[string]func(*facts) metav1.Condition{
		hyperv1.ValidHostedClusterConfiguration: validConfiguration,
		hyperv1.UnmanagedEtcdAvailable:          unmanagedEtcdAvailable,
		hyperv1.AWSEndpointServiceAvailable:     endpointServices(hyperv1.AWSEndpointServiceAvailable),
		hyperv1.AWSEndpointAvailable:            endpointServices(hyperv1.AWSEndpointAvailable),
		hyperv1.ReconciliationActive:            reconciliationActive,
		hyperv1.ReconciliationSucceeded:         reconciliationSucceeded,
		hyperv1.SupportedFields:                 supportedFields,
		hyperv1.NetworkPoliciesEnforced:         networkPoliciesEnforced,
		hyperv1.HostedClusterDestroyed:          destroyed,
		hyperv1.HostedClusterAvailable:          available,
		hyperv1.HostedClusterProgressing:        progressing,
	}
	for _, m := range mirrored {
		evaluators[m.condition] = mirror(m.condition, m.expected)
	}
}

// condition returns a condition; its Status is empty if the HostedCluster does not have it.
func (f *facts) condition(conditionType string) metav1.Condition {
	if c, ok := f.evaluated[conditionType]; ok {
		return c
	}
	c := f.fromSteps(conditionType)
	if evaluate := evaluators[conditionType]; evaluate != nil {
		c = evaluate(f)
	}
	c.Type = conditionType
	f.evaluated[conditionType] = c
	return c
}

// is returns a condition of the current generation.
func (f *facts) is(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Status: status, Reason: reason, Message: message, ObservedGeneration: f.hc.Generation}
}

// fromSteps returns a condition as the steps have left it.
func (f *facts) fromSteps(conditionType string) metav1.Condition {
	if c := f.steps.Get(conditionType); c != nil {
		return *c
	}
	return absent
}

// evaluate returns all conditions.
func (f *facts) evaluate() []metav1.Condition {
	for _, conditionType := range slices.Sorted(maps.Keys(evaluators)) {
		f.condition(conditionType)
	}
	for _, conditionType := range slices.Sorted(maps.Keys(evaluators)) {
		if c := f.evaluated[conditionType]; c.Status != "" {
			f.steps.Put(c)
		} else {
			f.steps.Remove(conditionType)
		}
	}
	return f.steps.List()
}

// summarize evaluates the conditions; the engine has set those of the steps already.
func (r *Reconciler) summarize(s *scope, report reconcile.Report, conditions *reconcile.Conditions) {
	s.recordVersion(r.Clock.Now())
	if s.hcp != nil {
		s.hc.Status.ControlPlaneEndpoint = s.hcp.Status.ControlPlaneEndpoint
		s.hc.Status.Platform = s.hcp.Status.Platform
		s.hc.Status.SecretEncryption = s.hcp.Status.SecretEncryption
	}
	f := newFacts(s, report, conditions)
	f.imageOverrides = r.AllowOperatorImageOverride
	if r.PoliciesEnforced != nil {
		f.policies = r.PoliciesEnforced()
	}
	f.evaluate()
	if reason := f.turned(); reason != "" {
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, reason, "Reconcile", "%s", f.condition(hyperv1.HostedClusterAvailable).Message)
	}
}

func newFacts(s *scope, report reconcile.Report, steps *reconcile.Conditions) *facts {
	return &facts{scope: s, report: report, steps: steps, evaluated: map[string]metav1.Condition{}}
}

// validConfiguration reports errors that block nothing as well.
func validConfiguration(f *facts) metav1.Condition {
	c := f.fromSteps(hyperv1.ValidHostedClusterConfiguration)
	if len(f.tolerated) > 0 && c.Status == metav1.ConditionTrue {
		return f.is(metav1.ConditionFalse, validation.Reason(f.tolerated), validation.Message(f.tolerated))
	}
	return c
}

func unmanagedEtcdAvailable(f *facts) metav1.Condition {
	if f.hc.Spec.Etcd.Unmanaged == nil {
		return absent
	}
	return f.fromSteps(hyperv1.UnmanagedEtcdAvailable)
}

func reconciliationActive(f *facts) metav1.Condition {
	switch until := f.hc.Spec.PausedUntil; {
	case !f.paused:
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, "changes are being acted on")
	case f.deleting():
		return f.is(metav1.ConditionTrue, hyperv1.DeletingReason, "a pause does not stop the deletion")
	case f.unreadablePause():
		return f.is(metav1.ConditionFalse, hyperv1.ReconciliationInvalidPausedUntilReason,
			fmt.Sprintf("spec.pausedUntil is %q, which cannot be read, and nothing is changed until it can: write true, false or a time such as 2030-01-31T12:00:00Z, or remove it", *until))
	default:
		return f.is(metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, fmt.Sprintf("spec.pausedUntil is %q: remove it to go on", *until))
	}
}

// reconciliationSucceeded reports whether every step of this reconcile is done.
func reconciliationSucceeded(f *facts) metav1.Condition {
	if f.paused && !f.deleting() {
		return f.is(metav1.ConditionUnknown, f.condition(hyperv1.ReconciliationActive).Reason, "nothing is changed while spec.pausedUntil stops it")
	}
	reason, messages := "", []string{}
	for _, o := range f.report {
		if o.Err == nil || apierrors.IsConflict(o.Err) || f.releaseHeld && o.Condition == hyperv1.ValidReleaseImage {
			continue
		}
		if reason == "" {
			reason = reasonOf(o.Err)
		}
		messages = append(messages, o.Step+": "+awsx.Message(o.Err))
	}
	switch {
	case reason != "":
		return f.is(metav1.ConditionFalse, reason, strings.Join(messages, "; "))
	case f.report.Done():
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	case f.releaseHeld:
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, "everything but the release: see "+hyperv1.ValidReleaseImage)
	}
	return f.fromSteps(hyperv1.ReconciliationSucceeded)
}

// reasonOf returns the reason of an outcome.
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

// supportedFields lists the fields that are accepted and have no effect yet.
func supportedFields(f *facts) metav1.Condition {
	fields := f.hc.NotActedOn()
	if f.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] != "" && !f.imageOverrides {
		fields = append(fields, "annotation "+hyperv1.ControlPlaneOperatorImageAnnotation+" (the hypershift-operator was started without --allow-control-plane-operator-image-override)")
	}
	if len(fields) == 0 {
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	}
	return f.is(metav1.ConditionFalse, hyperv1.NotActedOnReason, "accepted, and without effect in this version: "+strings.Join(fields, ", "))
}

func networkPoliciesEnforced(f *facts) metav1.Condition {
	switch f.policies {
	case "":
		return absent
	case metav1.ConditionTrue:
		return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	case metav1.ConditionFalse:
		return f.is(metav1.ConditionFalse, hyperv1.NetworkPoliciesIgnoredReason,
			"the management cluster does not enforce NetworkPolicies: pods of control planes reach each other, the management API server and the identity of their node; install a network that enforces them, or enable it")
	}
	return f.is(metav1.ConditionUnknown, hyperv1.NetworkPoliciesUntriedReason, "no control plane of the management cluster could be tried yet")
}

// destroyed reports the progress of the deletion.
func destroyed(f *facts) metav1.Condition {
	if !f.deleting() {
		return f.fromSteps(hyperv1.HostedClusterDestroyed)
	}
	err := f.report.Err()
	if err == nil {
		return f.fromSteps(hyperv1.HostedClusterDestroyed)
	}
	status := metav1.ConditionFalse
	var wait *reconcile.Waiting
	if errors.As(err, &wait) && wait.Reason == hyperv1.WaitingForGracePeriodReason {
		status = metav1.ConditionTrue
	}
	return f.is(status, reasonOf(err), classify.Message(err))
}

func always(*facts) bool { return true }

func never(*facts) bool { return false }

func onAWS(f *facts) bool { return f.aws() != nil }

func isPrivate(f *facts) bool { return f.hc.Spec.Platform.PrivateLink() }

// isActive is false while the user has paused everything: that no step runs then
// is no evidence about the cluster.
func isActive(f *facts) bool {
	return f.condition(hyperv1.ReconciliationActive).Status != metav1.ConditionFalse
}

// before returns the status of a condition before this reconcile, "" without one.
func (f *facts) before(conditionType string) metav1.ConditionStatus {
	if c := f.steps.Before(conditionType); c != nil {
		return c.Status
	}
	return ""
}

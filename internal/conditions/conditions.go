// Package conditions turns what the steps of a reconcile said into conditions
// that a user can act on, and keeps them still while nothing changes.
package conditions

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hosted-control-planes/hypershift/internal/flow"
)

// Reasons that this package itself gives; all others come from the steps.
const (
	// AsExpected says that nothing needs to be done.
	AsExpected = "AsExpected"
	// WaitingFor says that an earlier step has to succeed first; the message names it.
	WaitingFor = "WaitingFor"
)

const allIsWell = "All is well"

// A Judge puts an error into words. Package awsx provides one for AWS.
type Judge struct {
	// Transient says of an error that it tells nothing about the world: we
	// were throttled, or nobody answered.
	Transient func(error) bool
	// Reason is a CamelCase word for the error.
	Reason func(error) string
	// Message is a stable sentence for the error: no times, no request ids.
	Message func(error) string
}

// FromReport returns previous with the conditions that the report answers for:
//   - a step without an error is True;
//   - a wait or a block is False, with its own reason and message;
//   - an error is False with the judge's words, but a transient one says
//     nothing: a True condition stays, anything else becomes Unknown;
//   - a step that did not run is Unknown, unless a transient error stood
//     before it: then its condition stays as it was. It says why if what
//     stopped it has no condition that does.
func FromReport(report flow.Report, judge Judge, previous []metav1.Condition, generation int64, now time.Time) []metav1.Condition {
	conds := append([]metav1.Condition(nil), previous...)
	for _, o := range report {
		if o.Condition == "" {
			continue
		}
		if c, said := fromOutcome(o, judge, meta.FindStatusCondition(conds, o.Condition)); said {
			c.ObservedGeneration = generation
			Set(&conds, c, now)
		}
	}
	return conds
}

func fromOutcome(o flow.Outcome, judge Judge, previous *metav1.Condition) (c metav1.Condition, said bool) {
	var wait *flow.Waiting
	var block *flow.Blocked
	cond := func(status metav1.ConditionStatus, reason, message string) (metav1.Condition, bool) {
		return metav1.Condition{Type: o.Condition, Status: status, Reason: reason, Message: message}, true
	}
	switch {
	case o.Stopper != nil:
		if previous != nil && judge.transient(o.Stopper.Err) {
			return metav1.Condition{}, false
		}
		return cond(metav1.ConditionUnknown, WaitingFor, "waiting for "+o.Stopper.Step+judge.untold(o.Stopper))
	case o.Err == nil:
		return cond(metav1.ConditionTrue, AsExpected, allIsWell)
	case errors.As(o.Err, &wait):
		return cond(metav1.ConditionFalse, wait.Reason, wait.Message)
	case errors.As(o.Err, &block):
		return cond(metav1.ConditionFalse, block.Reason, block.Message)
	case judge.transient(o.Err):
		if previous != nil && previous.Status == metav1.ConditionTrue {
			return metav1.Condition{}, false
		}
		return cond(metav1.ConditionUnknown, judge.Reason(o.Err), judge.Message(o.Err))
	default:
		return cond(metav1.ConditionFalse, judge.Reason(o.Err), judge.Message(o.Err))
	}
}

// untold is why a step stopped that answers for no condition: nobody else says it.
func (j Judge) untold(stopper *flow.Outcome) string {
	var wait *flow.Waiting
	var block *flow.Blocked
	switch {
	case stopper.Condition != "" || j.transient(stopper.Err):
		return ""
	case errors.As(stopper.Err, &wait):
		return ": " + wait.Message
	case errors.As(stopper.Err, &block):
		return ": " + block.Message
	}
	return ": " + j.Message(stopper.Err)
}

// transient is false for what a step decided itself: waits and blocks are
// statements about the world.
func (j Judge) transient(err error) bool {
	var wait *flow.Waiting
	var block *flow.Blocked
	switch {
	case errors.As(err, &wait), errors.As(err, &block):
		return false
	case SaysNothing(err):
		return true
	}
	return j.Transient(err)
}

// SaysNothing is true for what the API server could not do just now, and for a
// race that we lost: neither is a statement about the world.
func SaysNothing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}

// Set puts c into conds. The transition time is now when the status changes
// and stays what it was otherwise.
func Set(conds *[]metav1.Condition, c metav1.Condition, now time.Time) {
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	if c.Reason == "" {
		c.Reason = AsExpected
	}
	meta.SetStatusCondition(conds, c)
}

// Get returns the condition of that type, or nil.
func Get(conds []metav1.Condition, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(conds, conditionType)
}

// IsTrue says whether the condition of that type is there and True.
func IsTrue(conds []metav1.Condition, conditionType string) bool {
	return meta.IsStatusConditionTrue(conds, conditionType)
}

// Remove takes the conditions of those types away.
func Remove(conds *[]metav1.Condition, conditionTypes ...string) {
	for _, t := range conditionTypes {
		meta.RemoveStatusCondition(conds, t)
	}
}

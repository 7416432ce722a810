package reconcile

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons and the message that the engine itself gives; all others come from steps.
const (
	// AsExpected is the reason of a condition of a finished step.
	AsExpected = "AsExpected"
	// WaitingFor is the reason of a condition of a step that did not run: the message
	// names the step that has to be done first.
	WaitingFor = "WaitingFor"
	// AllIsWell is the message of a condition of a finished step.
	AllIsWell = "All is well"
)

// Conditions are the conditions of an object while a reconcile writes them. Their
// times depend only on the beginning and the end: a condition that ends with its first status keeps
// its transition time, whatever it was in between.
type Conditions struct {
	before, list []metav1.Condition
	generation   int64
	now          time.Time
}

// NewConditions begins with the conditions that an object of that generation has.
// The list is not changed: it may belong to a cache.
func NewConditions(before []metav1.Condition, generation int64, now time.Time) *Conditions {
	return &Conditions{before: slices.Clone(before), list: slices.Clone(before), generation: generation, now: now}
}

// Get returns the condition of that type, or nil.
func (c *Conditions) Get(conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(c.list, conditionType)
}

// Before returns the condition of that type as it was in the beginning, or nil.
func (c *Conditions) Before(conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(c.before, conditionType)
}

// IsTrue is true if there is a condition of that type and it is True.
func (c *Conditions) IsTrue(conditionType string) bool {
	return meta.IsStatusConditionTrue(c.list, conditionType)
}

// Set sets a condition of the generation that is being reconciled.
func (c *Conditions) Set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	c.Put(metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: c.generation})
}

// Put sets a condition with its own observed generation.
func (c *Conditions) Put(condition metav1.Condition) {
	SetCondition(&c.list, condition, c.now)
	if previous := c.Before(condition.Type); previous != nil && previous.Status == condition.Status {
		c.Get(condition.Type).LastTransitionTime = previous.LastTransitionTime
	}
}

// Remove removes the conditions of those types.
func (c *Conditions) Remove(conditionTypes ...string) {
	for _, t := range conditionTypes {
		meta.RemoveStatusCondition(&c.list, t)
	}
}

// Restore sets the conditions of those types to their first values.
func (c *Conditions) Restore(conditionTypes ...string) {
	for _, t := range conditionTypes {
		if previous := c.Before(t); previous != nil {
			c.Put(*previous)
		} else {
			c.Remove(t)
		}
	}
}

// List returns the conditions as they are to be written.
func (c *Conditions) List() []metav1.Condition { return c.list }

// SetCondition sets a condition in a list. The transition time changes with the status only.
func SetCondition(list *[]metav1.Condition, condition metav1.Condition, now time.Time) {
	condition.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	if condition.Reason == "" {
		condition.Reason = AsExpected
	}
	meta.SetStatusCondition(list, condition)
}

// Report sets the conditions of the steps:
//   - a step that is done is True;
//   - a wait or a block is False, with its own reason and message;
//   - an unknown outcome and a transient error leave a True condition as it is, and
//     make any other one Unknown;
//   - any other error is False, with the reason and the message of the classifier;
//   - a step that did not run is Unknown, and names the step that it waits for. If
//     the outcome of that step is unknown, the condition stays as it is.
func (c *Conditions) Report(report Report, classify Classifier) {
	for _, o := range report {
		if o.Condition != "" {
			c.outcome(o, classify)
		}
		if o.Unverified != nil {
			c.Set(o.unverifiedCondition(), metav1.ConditionUnknown, o.Unverified.Reason, o.Unverified.Message)
		}
	}
}

// Summarize sets one condition for all steps: the first outcome that is not done determines it.
func (c *Conditions) Summarize(conditionType string, report Report, classify Classifier) {
	c.outcome(Outcome{Condition: conditionType, Err: report.Err()}, classify)
}

func (c *Conditions) outcome(o Outcome, classify Classifier) {
	previous := c.Get(o.Condition)
	if o.Stopper != nil {
		if previous == nil || !classify.inconclusive(o.Stopper.Err) {
			c.Set(o.Condition, metav1.ConditionUnknown, WaitingFor, "waiting for "+o.Stopper.Step+classify.unreported(o.Stopper))
		}
		return
	}
	if o.Err == nil {
		c.Set(o.Condition, metav1.ConditionTrue, AsExpected, AllIsWell)
		return
	}
	status := metav1.ConditionFalse
	if classify.inconclusive(o.Err) {
		if previous != nil && previous.Status == metav1.ConditionTrue {
			return
		}
		status = metav1.ConditionUnknown
	}
	reason, message := ReasonAndMessage(o.Err, classify)
	c.Set(o.Condition, status, reason, message)
}

// unreported is the message of a step that has no condition of its own: a step that
// waits for it reports it.
func (c Classifier) unreported(stopper *Outcome) string {
	if stopper.Condition != "" || c.inconclusive(stopper.Err) {
		return ""
	}
	_, message := ReasonAndMessage(stopper.Err, c)
	return ": " + message
}

package reconcile

import (
	"errors"
	"fmt"
	"time"
)

// Waiting is the outcome of a step that needs time, without an error.
type Waiting struct {
	Reason, Message string
	// After is when to reconcile again, 0 if a watch reports the end of the wait.
	After time.Duration
	// Inconclusive is true if the step could not determine the fact that its condition reports. A condition that is True stays True.
	Inconclusive bool
}

func (w *Waiting) Error() string { return w.Message }

// Blocked is the outcome of a step that only a change of the object can help.
type Blocked struct{ Reason, Message string }

func (b *Blocked) Error() string { return b.Message }

// Wait returns the outcome of a step that needs time. The condition of the step is False.
func Wait(after time.Duration, reason, format string, args ...any) error {
	return &Waiting{Reason: reason, Message: fmt.Sprintf(format, args...), After: after}
}

// Block returns the outcome of a step that has to wait for a change of the object.
// The condition of the step is False.
func Block(reason, format string, args ...any) error {
	return &Blocked{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Unknown returns the outcome of a step that could not determine the fact that its condition reports,
// and tries again. A condition that is True stays True, because a missing answer is no evidence of a
// change; any other condition becomes Unknown.
func Unknown(after time.Duration, reason, format string, args ...any) error {
	return &Waiting{Reason: reason, Message: fmt.Sprintf(format, args...), After: after, Inconclusive: true}
}

// UnverifiedError marks the condition of a step as Unknown, whatever else the
// outcome of the step is.
type UnverifiedError struct {
	// Condition is empty for the condition of the step.
	Condition       string
	Reason, Message string
	// Outcome is the outcome of the step; nil if the step is done.
	Outcome error
}

// Unverified returns the outcome of a step that has done its work although it cannot determine the fact that its condition reports. The
// steps that follow run.
func Unverified(reason, format string, args ...any) *UnverifiedError {
	return &UnverifiedError{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// About names a condition that is not the step's own.
func (u *UnverifiedError) About(condition string) *UnverifiedError {
	u.Condition = condition
	return u
}

// With adds an outcome: the step is not done.
func (u *UnverifiedError) With(outcome error) error {
	u.Outcome = outcome
	return u
}

func (u *UnverifiedError) Error() string {
	if u.Outcome != nil {
		return u.Outcome.Error()
	}
	return u.Message
}

// Unwrap returns the outcome, so that errors.As finds a Waiting or a Blocked.
func (u *UnverifiedError) Unwrap() error { return u.Outcome }

// skipped ends a reconcile before its first step.
type skipped struct{ after time.Duration }

func (*skipped) Error() string { return "there is nothing to do" }

// Skip returns the error of Scope for an object that needs no reconcile: no step
// runs, and the status stays as it is. The object is reconciled again after that
// time; 0 means that only a change leads to another reconcile.
func Skip(after time.Duration) error { return &skipped{after: after} }

// ReasonAndMessage returns an outcome's own reason and message, and for an error the ones from classify.
func ReasonAndMessage(outcome error, classify Classifier) (reason, message string) {
	var wait *Waiting
	var block *Blocked
	switch {
	case errors.As(outcome, &wait):
		return wait.Reason, wait.Message
	case errors.As(outcome, &block):
		return block.Reason, block.Message
	}
	return classify.reason(outcome), classify.message(outcome)
}

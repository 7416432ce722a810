package reconcile

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// A Classifier turns errors into conditions. The zero value classifies errors of
// AWS and of an API server; a controller sets the functions that differ.
type Classifier struct {
	// Transient is true for an error that is no evidence of anything, such as
	// throttling or a timeout.
	Transient func(error) bool
	// Reason returns a CamelCase word.
	Reason func(error) string
	// Message returns a sentence that is the same whenever the error is: without
	// times and request ids.
	Message func(error) string
}

func (c Classifier) reason(err error) string {
	if c.Reason != nil {
		return c.Reason(err)
	}
	return awsx.Reason(err)
}

func (c Classifier) message(err error) string {
	if c.Message != nil {
		return c.Message(err)
	}
	return awsx.Message(err)
}

// inconclusive is true for an outcome that is no evidence of anything. Waits and
// blocks are statements of a step, unless the step defines them otherwise.
func (c Classifier) inconclusive(err error) bool {
	var wait *Waiting
	var block *Blocked
	switch {
	case errors.As(err, &wait):
		return wait.Inconclusive
	case errors.As(err, &block):
		return false
	}
	return c.IsTransient(err)
}

// IsTransient is true for an error that is no evidence of anything.
func (c Classifier) IsTransient(err error) bool {
	switch {
	case IsTransientAPIError(err):
		return true
	case c.Transient != nil:
		return c.Transient(err)
	}
	return awsx.IsTransient(err)
}

// IsTransientAPIError is true for a request that an API server could not serve at that moment, and for a conflict.
func IsTransientAPIError(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}

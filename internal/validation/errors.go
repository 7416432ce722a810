package validation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// A reason is the reason of the condition that reports an error.
type reason string

const (
	configuration reason = hyperv1.InvalidConfigurationReason
	publishing    reason = hyperv1.UnsupportedPublishingReason
	overlap       reason = hyperv1.NetworksOverlapReason
	nodePool      reason = hyperv1.NodePoolValidationFailedReason
)

var spec = field.NewPath("spec")

func (r reason) error(kind field.ErrorType, at *field.Path, value any, format string, args ...any) *field.Error {
	return &field.Error{Type: kind, Field: at.String(), BadValue: value, Detail: fmt.Sprintf(format, args...), Origin: string(r)}
}

// invalid reports a value that cannot be used.
func (r reason) invalid(at *field.Path, value any, format string, args ...any) *field.Error {
	return r.error(field.ErrorTypeInvalid, at, value, format, args...)
}

// secret reports a value that cannot be used and may hold a password.
func (r reason) secret(at *field.Path, format string, args ...any) *field.Error {
	return r.error(field.ErrorTypeInvalid, at, field.OmitValueType{}, format, args...)
}

// required reports a missing value.
func (r reason) required(at *field.Path, format string, args ...any) *field.Error {
	return r.error(field.ErrorTypeRequired, at, "", format, args...)
}

// forbidden reports a value that another value excludes.
func (r reason) forbidden(at *field.Path, format string, args ...any) *field.Error {
	return r.error(field.ErrorTypeForbidden, at, "", format, args...)
}

// duplicate reports a value that may exist only once.
func (r reason) duplicate(at *field.Path, value any, format string, args ...any) *field.Error {
	return r.error(field.ErrorTypeDuplicate, at, value, format, args...)
}

// unsupported reports a value that is not in the list of possible ones.
func (r reason) unsupported(at *field.Path, value any, format string, args ...any) *field.Error {
	return r.error(field.ErrorTypeNotSupported, at, value, format, args...)
}

// Errorf returns the error of a check that needs more than specs, for callers that add it to the errors of this package.
func Errorf(because string, at *field.Path, value any, format string, args ...any) *field.Error {
	return reason(because).invalid(at, value, format, args...)
}

// Reason returns the reason of the first error, and "" for an empty list.
func Reason(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs[0].Origin
}

// Message returns the sentences of all errors in their order.
func Message(errs field.ErrorList) string {
	var sentences []string
	for _, err := range errs {
		sentences = append(sentences, err.Detail)
	}
	return strings.Join(sentences, "; ")
}

// Sort orders errors by their sentences, for checks that iterate over a map.
func Sort(errs field.ErrorList) {
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Detail, b.Detail) })
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

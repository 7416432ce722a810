package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// MemoryLimitFactor reports a factor of the annotation that could not be used; err
// is nil for a valid one.
func MemoryLimitFactor(value string, err error) field.ErrorList {
	if err == nil {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(hyperv1.MemoryLimitFactorAnnotation)
	return field.ErrorList{configuration.invalid(at, value, "annotation %s %v", hyperv1.MemoryLimitFactorAnnotation, err)}
}

// PriorityClass rejects a class that the installation does not allow: with it one
// control plane could preempt the pods of others.
func PriorityClass(annotation, class string, allowed []string) field.ErrorList {
	if class == "" || slices.Contains(allowed, class) {
		return nil
	}
	return field.ErrorList{configuration.unsupported(field.NewPath("metadata", "annotations").Key(annotation), class,
		"annotation %s names PriorityClass %s, which this installation does not allow: use one of %s, or have the installer allow it (controlPlaneLimits.priorityClasses)", annotation, class, strings.Join(allowed, ", "))}
}

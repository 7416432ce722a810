package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// LargestRequest rejects requests of containers that are above the largest memory that the installation allows, 0 for no bound: the API server
// would refuse their pods.
func LargestRequest(annotations map[string]string, most resource.Quantity) (errs field.ErrorList) {
	if most.IsZero() {
		return nil
	}
	at := field.NewPath("metadata", "annotations")
	for _, key := range sortedKeys(annotations) {
		if domain, _, _ := strings.Cut(key, "/"); domain != hyperv1.ResourceRequestOverrideAnnotationPrefix {
			continue
		}
		requests, err := hyperv1.ParseResourceRequests(annotations[key])
		if err != nil {
			continue // the value is rejected
		}
		if memory := requests[corev1.ResourceMemory]; memory.Cmp(most) > 0 {
			errs = append(errs, configuration.invalid(at.Key(key), annotations[key], "annotation %s requests %s of memory: this installation allows %s for a container", key, memory.String(), most.String()))
		}
	}
	return errs
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

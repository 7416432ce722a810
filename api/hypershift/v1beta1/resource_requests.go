package v1beta1

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ParseResourceRequests parses the value of an annotation with ResourceRequestOverrideAnnotationPrefix: requests of a container, such as
// cpu=500m,memory=2Gi.
func ParseResourceRequests(text string) (corev1.ResourceList, error) {
	requests := corev1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if !slices.Contains([]string{string(corev1.ResourceCPU), string(corev1.ResourceMemory)}, name) {
			return nil, fmt.Errorf("%q is no request of cpu or memory", strings.TrimSpace(pair))
		}
		quantity, err := resource.ParseQuantity(value)
		if err != nil || quantity.Sign() <= 0 {
			return nil, fmt.Errorf("%q is no quantity of %s above zero", value, name)
		}
		requests[corev1.ResourceName(name)] = quantity
	}
	return requests, nil
}

package component

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// ParseRequests reads requests of a container, such as cpu=500m,memory=2Gi.
func ParseRequests(text string) (corev1.ResourceList, error) {
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

// OverrideRequests sets the requests that the user has chosen for containers of a workload. The hypershift-operator has checked
// them; one that cannot be read has no effect.
func OverrideRequests(workload string, pod *corev1.PodSpec, annotations map[string]string) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			chosen, set := annotations[hyperv1.ResourceRequestOverrideAnnotationPrefix+"/"+workload+"."+c.Name]
			if !set {
				continue
			}
			requests, err := ParseRequests(chosen)
			if err != nil {
				continue
			}
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			for name, quantity := range requests {
				c.Resources.Requests[name] = quantity
				// A limit below the request is refused.
				if limit, limited := c.Resources.Limits[name]; limited && limit.Cmp(quantity) < 0 {
					c.Resources.Limits[name] = quantity
				}
			}
		}
	}
}

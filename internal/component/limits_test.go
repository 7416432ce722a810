package component_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/hosted-control-planes/hypershift/internal/component"
)

func TestMemoryLimitIsBetweenTheRequestAndTheLargest(t *testing.T) {
	for name, c := range map[string]struct {
		request, most string
		factor        int64
		want          string
	}{
		"a multiple of the request":       {"180Mi", "64Gi", 64, "11520Mi"},
		"at least":                        {"5Mi", "64Gi", 64, "1Gi"},
		"at most":                         {"3Gi", "64Gi", 64, "64Gi"},
		"no bound":                        {"3Gi", "0", 64, "192Gi"},
		"an installation with small ones": {"5Mi", "512Mi", 64, "512Mi"},
		"never below the request":         {"2Gi", "1Gi", 64, "2Gi"},
		"no limits":                       {"3Gi", "64Gi", 0, "0"},
	} {
		pod := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.request)},
		}}}}
		component.Bound(pod, c.factor, resource.MustParse(c.most))
		if got := pod.Containers[0].Resources.Limits.Memory().String(); got != c.want {
			t.Errorf("%s: the limit is %s, want %s", name, got, c.want)
		}
	}
}

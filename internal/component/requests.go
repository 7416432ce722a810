package component

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// OverrideRequests sets the requests that the user has chosen for containers of a workload. The hypershift-operator has checked
// them; a request that cannot be read has no effect.
func OverrideRequests(workload string, pod *corev1.PodSpec, annotations map[string]string) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			chosen, set := annotations[hyperv1.ResourceRequestOverrideAnnotationPrefix+"/"+workload+"."+c.Name]
			if !set {
				continue
			}
			requests, err := hyperv1.ParseResourceRequests(chosen)
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
			if workload != names.KubeAPIServer || c.Name != names.KubeAPIServer || annotations[hyperv1.KubeAPIServerGOGCAnnotation] == "" {
				allowGarbage(c)
			}
		}
	}
}

// large is the memory request from which a program is that of a large cluster.
var large = resource.MustParse("1Gi")

// allowGarbage gives a program with much memory the default GOGC of Go: the lower one of the assets saves memory in a small cluster, and
// takes two fifths of the CPU of an API server with 5,000 nodes.
func allowGarbage(c *corev1.Container) {
	if c.Resources.Requests.Memory().Cmp(large) < 0 {
		return
	}
	for i := range c.Env {
		if c.Env[i].Name == "GOGC" {
			c.Env[i].Value = "100"
		}
	}
}

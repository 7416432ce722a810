package component_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

func TestRequestsOfTheUserReplaceThoseOfTheComponent(t *testing.T) {
	pod := func() *corev1.PodSpec {
		requests := func(memory string) corev1.ResourceRequirements {
			return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceCPU: resource.MustParse("10m")}}
		}
		p := &corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "wait", Resources: requests("5Mi")}},
			Containers:     []corev1.Container{{Name: "etcd", Resources: requests("100Mi")}, {Name: "other"}},
		}
		p.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
		return p
	}
	for name, c := range map[string]struct{ annotation, value, want string }{
		"both":                        {"etcd.etcd", "cpu=500m,memory=600Mi", "500m 600Mi 1Gi"},
		"one, the other stays":        {"etcd.etcd", "memory=600Mi", "10m 600Mi 1Gi"},
		"above the limit":             {"etcd.etcd", "memory=2Gi", "10m 2Gi 2Gi"},
		"those of another container":  {"etcd.else", "memory=2Gi", "10m 100Mi 1Gi"},
		"those of another workload":   {"kube-apiserver.etcd", "memory=2Gi", "10m 100Mi 1Gi"},
		"what nobody can read, never": {"etcd.etcd", "memory=much", "10m 100Mi 1Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod()
			component.OverrideRequests("etcd", p, map[string]string{hyperv1.ResourceRequestOverrideAnnotationPrefix + "/" + c.annotation: c.value})
			r := p.Containers[0].Resources
			if got := r.Requests.Cpu().String() + " " + r.Requests.Memory().String() + " " + r.Limits.Memory().String(); got != c.want {
				t.Errorf("cpu, memory and limit are %s, want %s", got, c.want)
			}
		})
	}
}

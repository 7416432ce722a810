package component_test

import (
	"cmp"
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

// An API server with 5,000 nodes takes two fifths of its CPU for garbage with the GOGC of small clusters.
func TestProgramsWithMuchMemoryHaveTheDefaultGOGC(t *testing.T) {
	const apiServer, etcd = "/kube-apiserver.kube-apiserver", "/etcd.etcd"
	for name, c := range map[string]struct {
		requests        map[string]string
		gogc            string // of the user, for the API server
		apiServer, etcd string
	}{
		"requests of the assets":    {nil, "", "25", "50"},
		"larger, but not large":     {map[string]string{apiServer: "memory=512Mi"}, "", "25", "50"},
		"large":                     {map[string]string{apiServer: "memory=1Gi", etcd: "memory=2Gi"}, "", "100", "100"},
		"one of two":                {map[string]string{etcd: "memory=1Gi"}, "", "25", "100"},
		"large, with a GOGC":        {map[string]string{apiServer: "memory=1Gi", etcd: "memory=1Gi"}, "40", "40", "100"},
		"many cores, and no memory": {map[string]string{apiServer: "cpu=4"}, "", "25", "50"},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{hyperv1.KubeAPIServerGOGCAnnotation: c.gogc}
			for key, value := range c.requests {
				annotations[hyperv1.ResourceRequestOverrideAnnotationPrefix+key] = value
			}
			gogc := func(program, value string) string {
				pod := &corev1.PodSpec{Containers: []corev1.Container{{Name: program, Env: []corev1.EnvVar{{Name: "GOGC", Value: value}}}, {Name: "other"}}}
				component.OverrideRequests(program, pod, annotations)
				if len(pod.Containers[1].Env) > 0 {
					t.Error("a container without GOGC gets one")
				}
				return pod.Containers[0].Env[0].Value
			}
			if got := gogc("kube-apiserver", cmp.Or(c.gogc, "25")); got != c.apiServer { // as the component sets it
				t.Errorf("GOGC of the API server is %s, want %s", got, c.apiServer)
			}
			if got := gogc("etcd", "50"); got != c.etcd {
				t.Errorf("GOGC of etcd is %s, want %s", got, c.etcd)
			}
		})
	}
}

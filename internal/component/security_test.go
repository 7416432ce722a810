package component

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestRestrictedContainerKeepsOneCapability(t *testing.T) {
	adding := func(capabilities ...corev1.Capability) *corev1.SecurityContext {
		return &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: capabilities}}
	}
	for name, tc := range map[string]struct {
		manifest *corev1.SecurityContext
		want     []corev1.Capability
	}{
		"no security context":       {nil, nil},
		"no capabilities":           {&corev1.SecurityContext{}, nil},
		"NET_BIND_SERVICE":          {adding("NET_BIND_SERVICE"), []corev1.Capability{"NET_BIND_SERVICE"}},
		"others":                    {adding("SYS_ADMIN", "NET_RAW"), nil},
		"NET_BIND_SERVICE and more": {adding("SYS_ADMIN", "NET_BIND_SERVICE"), []corev1.Capability{"NET_BIND_SERVICE"}},
	} {
		pod := &corev1.PodSpec{
			InitContainers: []corev1.Container{{SecurityContext: tc.manifest}},
			Containers:     []corev1.Container{{SecurityContext: tc.manifest}},
		}
		Restrict(pod)
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			got := c.SecurityContext.Capabilities
			if !slices.Equal(got.Add, tc.want) || !slices.Equal(got.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("%s: the container has %+v, want %v", name, got, tc.want)
			}
		}
	}
}

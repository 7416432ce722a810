package component

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Restrict sets the restricted pod security level, and a read-only root file system. Writable directories are in memory or on
// a volume, such as /tmp.
func Restrict(pod *corev1.PodSpec) {
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{}
	}
	s := pod.SecurityContext
	s.RunAsNonRoot = ptr.To(true)
	s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			containers[i].SecurityContext = &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false),
				ReadOnlyRootFilesystem:   ptr.To(true),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}
		}
	}
}

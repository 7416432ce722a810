package component

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// netBindService is the one capability that the restricted pod security level allows.
const netBindService corev1.Capability = "NET_BIND_SERVICE"

// Restrict sets the restricted pod security level, and a read-only root file system. Writable directories are in memory or on
// a volume, such as /tmp.
//
// A container keeps NET_BIND_SERVICE if its manifest adds it. Linux does not start a program with a file capability in a container that
// cannot have the capability.
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
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: kept(containers[i].SecurityContext)},
			}
		}
	}
}

// kept are the capabilities of a manifest that a restricted container may add.
func kept(s *corev1.SecurityContext) []corev1.Capability {
	if s == nil || s.Capabilities == nil || !slices.Contains(s.Capabilities.Add, netBindService) {
		return nil
	}
	return []corev1.Capability{netBindService}
}

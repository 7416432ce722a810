package component

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// nobody is the user ID of all pods. The images of Kubernetes would run as root.
const nobody = 65532

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

// runAsNobody sets a user, and the same group for the volumes of the pod.
func runAsNobody(pod *corev1.PodSpec) {
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{}
	}
	s := pod.SecurityContext
	s.RunAsUser, s.RunAsGroup, s.FSGroup = ptr.To[int64](nobody), ptr.To[int64](nobody), ptr.To[int64](nobody)
	s.FSGroupChangePolicy = ptr.To(corev1.FSGroupChangeOnRootMismatch)
}

// tmp is a directory that every program expects to be writable.
const tmp = "/tmp"

// mountTmp mounts one writable directory of the pod into each container.
func mountTmp(pod *corev1.PodSpec) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			mounted := slices.ContainsFunc(containers[i].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tmp })
			if !mounted {
				containers[i].VolumeMounts = append(containers[i].VolumeMounts, corev1.VolumeMount{Name: "tmp", MountPath: tmp})
			}
		}
	}
}

package target

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// nobody is the user ID of all pods. The images of Kubernetes would run as root.
const nobody = 65532

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

// mountTmp mounts one writable directory into each container of a component.
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

// memoryFactor returns the factor that the hypershift-operator has set; 0 for none.
func memoryFactor(hcp *hyperv1.HostedControlPlane) int64 {
	n, err := strconv.ParseInt(hcp.Annotations[hyperv1.MemoryLimitFactorAnnotation], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// mostMemory is the largest memory limit of a container, which the hypershift-operator has set; 0 for none.
func mostMemory(hcp *hyperv1.HostedControlPlane) resource.Quantity {
	most, err := resource.ParseQuantity(hcp.Annotations[hyperv1.MemoryLimitMaxAnnotation])
	if err != nil || most.Sign() < 0 {
		return resource.Quantity{}
	}
	return most
}

// TrustUser makes pods that connect to external servers trust the certificate authorities of spec.additionalTrustBundle, once
// these exist.
func TrustUser(p *ControlPlane, pod *corev1.PodSpec) {
	if p.HCP.Spec.AdditionalTrustBundle != nil && p.ConfigMaps[names.UserCABundle] != nil {
		component.MountTrust(pod)
	}
}

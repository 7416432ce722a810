package component

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	trustVolume = "user-ca-bundle"
	trustDir    = "/etc/hypershift/trust"
	// trustPath lists the directories in which Go finds certificate authorities in addition to the bundle of an image
	// (crypto/x509): the default directories, and the directory of the user's authorities.
	trustPath = "/etc/ssl/certs:/etc/pki/tls/certs:" + trustDir
)

// MountTrust makes all containers of a pod trust the certificate authorities of the user. Programs read them at start.
func MountTrust(pod *corev1.PodSpec) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: trustVolume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: names.UserCABundle}},
	}})
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Env = append(c.Env, corev1.EnvVar{Name: "SSL_CERT_DIR", Value: trustPath})
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: trustVolume, MountPath: trustDir, ReadOnly: true})
		}
	}
}

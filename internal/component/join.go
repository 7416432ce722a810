package component

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// join adds the containers, volumes and annotations of a guest's pods to those of its host, and returns the names of the guest's containers there.
// A volume gets the name of the guest before its own, and so does a container whose name is taken. An init container
// that the host has, too, and that only reads, such as one that waits for the API server, runs once.
//
// Everything else belongs to the host. Pods in which the guest has set other fields are an error.
func join(host, guest *corev1.PodTemplateSpec, name string) ([]string, error) {
	rest := guest.Spec.DeepCopy()
	rest.InitContainers, rest.Containers, rest.Volumes = nil, nil, nil
	if !equality.Semantic.DeepEqual(*rest, corev1.PodSpec{}) {
		return nil, errors.New("its pods have other fields than containers and volumes")
	}
	for _, v := range guest.Spec.Volumes {
		v.Name = name + "-" + v.Name
		host.Spec.Volumes = append(host.Spec.Volumes, v)
	}
	var names []string
	add := func(to *[]corev1.Container, c corev1.Container) {
		if slices.Contains(containersOf(&host.Spec), c.Name) {
			c.Name = name + "-" + c.Name
		}
		for i := range c.VolumeMounts {
			c.VolumeMounts[i].Name = name + "-" + c.VolumeMounts[i].Name
		}
		*to, names = append(*to, c), append(names, c.Name)
	}
	for _, c := range guest.Spec.InitContainers {
		if !slices.ContainsFunc(host.Spec.InitContainers, func(h corev1.Container) bool { return doesTheSame(h, c) }) {
			add(&host.Spec.InitContainers, c)
		}
	}
	for _, c := range guest.Spec.Containers {
		add(&host.Spec.Containers, c)
	}
	for key, value := range guest.Annotations {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, fmt.Sprintf("%s.%s", key, name), value)
	}
	return names, nil
}

// doesTheSame reports whether two init containers run the same program with the same input, and leave nothing in a volume.
func doesTheSame(a, b corev1.Container) bool {
	for _, c := range []corev1.Container{a, b} {
		if ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways ||
			slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return !m.ReadOnly }) {
			return false
		}
	}
	return a.Name == b.Name && a.Image == b.Image && slices.Equal(a.Command, b.Command) && slices.Equal(a.Args, b.Args) && equality.Semantic.DeepEqual(a.Env, b.Env)
}

// containersOf returns the names of all containers, among them init containers.
func containersOf(pod *corev1.PodSpec) []string {
	var names []string
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		names = append(names, c.Name)
	}
	return names
}

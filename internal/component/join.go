package component

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// join adds the containers, volumes and annotations of a guest's pods to those of its host, and returns the names of the guest's containers there.
// A volume gets the name of the guest before its own, and so does a container if its name is taken. The init containers of the host run first.
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
		add(&host.Spec.InitContainers, c)
	}
	for _, c := range guest.Spec.Containers {
		add(&host.Spec.Containers, c)
	}
	for key, value := range guest.Annotations {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, fmt.Sprintf("%s.%s", key, name), value)
	}
	return names, nil
}

// containersOf returns the names of all containers, among them init containers.
func containersOf(pod *corev1.PodSpec) []string {
	var names []string
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		names = append(names, c.Name)
	}
	return names
}

package component

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A MissingImagesError lists the images that a component needs and the release does not have.
type MissingImagesError struct{ Images []string }

func (e *MissingImagesError) Error() string {
	return fmt.Sprintf("the release has no image for %s", strings.Join(e.Images, ", "))
}

// ResolveImages replaces the names of images by references. Render does it for the pods of the workload.
func ResolveImages(t Target, pod *corev1.PodSpec) error {
	var missing []string
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			image := t.Image(c.Image)
			if image == "" {
				missing = append(missing, c.Image)
			}
			c.Image = image
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return &MissingImagesError{Images: slices.Compact(missing)}
	}
	return nil
}

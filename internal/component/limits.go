package component

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The minimum memory limit, which leaves room for peaks of a small program that was measured at rest, and the size limits of
// emptyDirs that set none: on the disk of the node, and in memory.
var (
	leastMemoryLimit = resource.MustParse("1Gi")
	diskSizeLimit    = resource.MustParse("1Gi")
	memorySizeLimit  = resource.MustParse("16Mi")
)

// Bound limits a pod's use of its node, which pods of other tenants share. The memory limit of a container is a multiple
// of its request: enough for a busy cluster, and less than a node. A factor of 0 sets none. The largest limit is most, which
// the LimitRange of the namespace allows; 0 is no bound. Limits that a container or a volume sets take precedence.
func Bound(pod *corev1.PodSpec, factor int64, most resource.Quantity) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			limitMemory(&containers[i].Resources, factor, most)
		}
	}
	for i := range pod.Volumes {
		dir := pod.Volumes[i].EmptyDir
		if dir == nil || dir.SizeLimit != nil {
			continue
		}
		limit := diskSizeLimit.DeepCopy()
		if dir.Medium == corev1.StorageMediumMemory {
			limit = memorySizeLimit.DeepCopy()
		}
		// Several volumes may share one value.
		pod.Volumes[i].EmptyDir = &corev1.EmptyDirVolumeSource{Medium: dir.Medium, SizeLimit: &limit}
	}
}

func limitMemory(r *corev1.ResourceRequirements, factor int64, most resource.Quantity) {
	request, requested := r.Requests[corev1.ResourceMemory]
	if _, limited := r.Limits[corev1.ResourceMemory]; limited || !requested || factor <= 0 {
		return
	}
	limit := *resource.NewQuantity(request.Value()*factor, resource.BinarySI)
	if limit.Cmp(leastMemoryLimit) < 0 {
		limit = leastMemoryLimit.DeepCopy()
	}
	if !most.IsZero() && limit.Cmp(most) > 0 {
		limit = most.DeepCopy()
	}
	if limit.Cmp(request) < 0 {
		limit = request.DeepCopy()
	}
	if r.Limits == nil {
		r.Limits = corev1.ResourceList{}
	}
	r.Limits[corev1.ResourceMemory] = limit
}

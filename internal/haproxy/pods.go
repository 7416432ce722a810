package haproxy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// ConfigAnnotation is the resourceVersion of the ConfigMap that a pod of a router was annotated for.
const ConfigAnnotation = "hypershift.openshift.io/router-config"

// SyncPods annotates the pods of a router with the resourceVersion of its ConfigMap, so that their kubelets update the mounted files at once. A
// kubelet would otherwise do so once a minute. Pods that have the annotation, or are being deleted, are left alone.
func SyncPods(ctx context.Context, c client.Writer, pods []corev1.Pod, version string) error {
	patch := mergepatch.Annotations(map[string]string{ConfigAnnotation: version})
	for i := range pods {
		pod := &pods[i]
		if pod.Annotations[ConfigAnnotation] == version || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		if err := c.Patch(ctx, pod, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

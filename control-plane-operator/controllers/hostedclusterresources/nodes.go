package hostedclusterresources

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// countNodes lists one Node: the response has the number of remaining ones.
func (r *Reconciler) countNodes(ctx context.Context, s *scope) error {
	list := metadata("NodeList")
	if err := s.hosted.client.List(ctx, list, client.Limit(1)); err != nil {
		return fmt.Errorf("counting nodes: %w", err)
	}
	s.nodesVersion = list.ResourceVersion
	s.hcp.Status.NodeCount = ptr.To(count(int64(len(list.Items)) + ptr.Deref(list.RemainingItemCount, 0)))
	return nil
}

// metadata returns a list of core objects that has only their metadata.
func metadata(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return list
}

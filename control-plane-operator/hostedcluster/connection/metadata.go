package connection

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Nodes returns an empty list of Nodes for their metadata.
func Nodes() *metav1.PartialObjectMetadataList {
	return Metadata(corev1.SchemeGroupVersion.WithKind("Node"))
}

// Metadata returns an empty list of a kind for the metadata of its objects.
func Metadata(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}

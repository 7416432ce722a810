// Package mergepatch builds JSON merge patches (RFC 7386).
package mergepatch

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch is a JSON merge patch: fields by their JSON names, nil for a field to remove. It is for single fields of objects with another field owner, and
// for finalizers, which are set as a whole. With metadata.resourceVersion, a change meanwhile is a conflict; with metadata.uid, a new object of
// the same name is.
type Patch map[string]any

// Metadata returns the patch of metadata fields.
func Metadata(fields map[string]any) Patch { return Patch{"metadata": fields} }

// Annotations returns the patch of annotations.
func Annotations[V any](annotations map[string]V) Patch {
	return Metadata(map[string]any{"annotations": annotations})
}

// Spec returns the patch of fields of the spec.
func Spec(fields map[string]any) Patch { return Patch{"spec": fields} }

// Type implements client.Patch.
func (Patch) Type() types.PatchType { return types.MergePatchType }

// Data implements client.Patch.
func (p Patch) Data(client.Object) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("marshalling a patch: %w", err)
	}
	return text, nil
}

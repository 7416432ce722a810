package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// desired returns obj as it is sent: with labels, owner and hash, without status and null values.
func (a *Applier) desired(set Set, id objectID, obj client.Object, hash string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting: %w", err)
	}
	want := &unstructured.Unstructured{Object: content}
	want.SetGroupVersionKind(id.GroupVersionKind)
	unstructured.RemoveNestedField(content, "status")
	dropNulls(content)
	want.SetLabels(with(want.GetLabels(), InventoryLabel, a.inventory(set)))
	if set.Parent != nil {
		if err := controllerutil.SetControllerReference(set.Parent, want, a.scheme); err != nil {
			return nil, err
		}
	}
	want.SetAnnotations(with(want.GetAnnotations(), AppliedAnnotation, hash))
	return want, nil
}

// dropNulls removes fields that a Go type marshals as null because it has no omitempty. The API server replaces null by the
// default, which would be a permanent difference.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, entry := range v {
			if entry == nil {
				delete(v, key)
			}
			dropNulls(entry)
		}
	case []any:
		for _, entry := range v {
			dropNulls(entry)
		}
	}
}

type objectID struct {
	schema.GroupVersionKind
	Namespace, Name string
}

func (a *Applier) identify(obj client.Object) (objectID, error) {
	gvk, err := apiutil.GVKForObject(obj, a.scheme)
	return objectID{GroupVersionKind: gvk, Namespace: obj.GetNamespace(), Name: obj.GetName()}, err
}

// hash covers everything that desired depends on.
func (a *Applier) hash(set Set, id objectID, obj client.Object) (string, error) {
	var parent types.UID
	if set.Parent != nil {
		parent = set.Parent.GetUID()
	}
	text, err := json.Marshal([]any{a.inventory(set), parent, id, obj}) // map keys are sorted: the same object gives the same text
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

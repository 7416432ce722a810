package apply

import (
	"crypto/sha256"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A verdict says that live object and desired one, in these versions, were
// compared and nothing differed. While both stay, nobody has to look again. It is
// a digest: an operator has one for each object that it ever applied.
type verdict [16]byte

// nothingDiffers is the verdict on live and what has that hash, which is of the
// object's name, too.
func nothingDiffers(hash string, live client.Object) verdict {
	sum := sha256.Sum256([]byte(hash + " " + string(live.GetUID()) + " " + live.GetResourceVersion()))
	return verdict(sum[:16])
}

// maxVerdicts is how many of them are remembered: a thousand hosted clusters have
// half as many objects. With one too few, all would be forgotten before they come
// by again.
const maxVerdicts = 1 << 16

// upToDate says whether applying want would change nothing: the same thing was
// applied last, and all of it still stands in live.
func upToDate(want *unstructured.Unstructured, live client.Object) (bool, error) {
	if live.GetAnnotations()[AppliedAnnotation] != want.GetAnnotations()[AppliedAnnotation] {
		return false, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, err
	}
	// The cached copy of a typed object has no kind, and want has no more to
	// say about its identity than the key it was found by.
	have := &unstructured.Unstructured{Object: content}
	have.SetGroupVersionKind(want.GroupVersionKind())
	return contains(have.Object, want.Object), nil
}

// contains says whether have has everything that want has. Lists are compared
// entry by entry: an entry that somebody else added is a difference.
func contains(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if !contains(h[k], v) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return len(w) == 0 && have == nil
		}
		for i := range w {
			if !contains(h[i], w[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(have, want)
	}
}

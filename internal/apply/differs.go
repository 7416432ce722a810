package apply

import (
	"crypto/sha256"
	"hash/maphash"
	"maps"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A comparison records that a live and a desired object were compared, in these versions, and did not differ. It need not be
// repeated while both stay the same. It is a digest, because an operator has one for each object that it has applied.
type comparison [16]byte

// comparisonOf identifies the comparison of live with the desired object that has the hash. The hash covers the name of the
// object.
func comparisonOf(hash string, live client.Object) comparison {
	sum := sha256.Sum256([]byte(hash + " " + string(live.GetUID()) + " " + live.GetResourceVersion()))
	return comparison(sum[:16])
}

// maxComparisons is how many objects are remembered. A thousand hosted clusters have half as many.
const maxComparisons = 1 << 16

// comparisons remembers the last comparison of each object without a difference. It has one small entry per object: with an
// entry per comparison, most of the memory would be for versions of objects that no longer exist.
type comparisons struct {
	seed maphash.Seed
	max  int

	mu   sync.Mutex
	last map[uint64]comparison
}

func newComparisons(limit int) *comparisons {
	return &comparisons{seed: maphash.MakeSeed(), max: limit, last: map[uint64]comparison{}}
}

// has reports whether that is the last comparison of the object.
func (c *comparisons) has(id objectID, same comparison) bool {
	key := c.key(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.last[key]
	return known && last == same
}

// add replaces the last comparison of the object. If there are too many objects, any other one is forgotten, and compared again.
func (c *comparisons) add(id objectID, same comparison) {
	key := c.key(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.last[key]; !known && len(c.last) >= c.max {
		for other := range c.last {
			delete(c.last, other)
			break
		}
	}
	c.last[key] = same
}

// key is a hash of the identity of an object. Two objects with the same hash only replace each other: the comparison covers the
// identity as well.
func (c *comparisons) key(id objectID) uint64 { return maphash.Comparable(c.seed, id) }

// upToDate reports whether applying want would change nothing: the same object was applied last, and live still contains it.
func upToDate(want *unstructured.Unstructured, live client.Object) (bool, error) {
	if live.GetAnnotations()[AppliedAnnotation] != want.GetAnnotations()[AppliedAnnotation] {
		return false, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, err
	}
	// The cached copy of a typed object has no kind, and the identity of want is the key by which live was read.
	have := &unstructured.Unstructured{Object: maps.Clone(content)} // content may belong to the cache
	have.SetGroupVersionKind(want.GroupVersionKind())
	return contains(have.Object, want.Object), nil
}

// contains reports whether have has everything that want has. Lists are compared item by item: an additional item of another
// writer is a difference.
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

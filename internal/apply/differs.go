package apply

import (
	"crypto/sha256"
	"hash/maphash"
	"maps"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A comparison records that a live and a desired object were compared, in these versions, and did not differ. It need not be
// repeated while both stay the same. It is a digest, because an operator has one for each object that it has applied.
type comparison [16]byte

// comparisonOf identifies the comparison of live with the desired object of that hash. The hash covers the name of the
// object.
func comparisonOf(hash string, live client.Object) comparison {
	sum := sha256.Sum256([]byte(hash + " " + string(live.GetUID()) + " " + live.GetResourceVersion()))
	return comparison(sum[:16])
}

const (
	// maxComparisons is how many objects are remembered in one period. A thousand hosted clusters have half as many.
	maxComparisons = 1 << 16
	// comparisonPeriod is how long a comparison is remembered at least after its last use. An object that is reconciled less
	// often is compared again, which costs microseconds and no request.
	comparisonPeriod = 10 * time.Minute
)

// comparisons remembers the last comparison of each object without a difference. It has one small entry per object: with an
// entry per comparison, most of the memory would be for versions of objects that no longer exist. The entry of a deleted
// object is not used again, and is forgotten after two periods, without a call that reports the deletion.
type comparisons struct {
	seed  maphash.Seed
	max   int
	clock clock.PassiveClock

	mu sync.Mutex
	// recent are the comparisons added or found since begun, earlier the comparisons of the period before and not since.
	recent, earlier map[uint64]comparison
	begun           time.Time
}

func newComparisons(limit int, c clock.PassiveClock) *comparisons {
	return &comparisons{seed: maphash.MakeSeed(), max: limit, clock: c, recent: map[uint64]comparison{}, begun: c.Now()}
}

// has reports whether that is the last comparison of the object.
func (c *comparisons) has(id objectID, same comparison) bool {
	key := c.key(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endPeriod()
	last, exists := c.recent[key]
	if !exists {
		if last, exists = c.earlier[key]; exists {
			c.recent[key] = last
			delete(c.earlier, key)
		}
	}
	return exists && last == same
}

// add replaces the last comparison of the object.
func (c *comparisons) add(id objectID, same comparison) {
	key := c.key(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endPeriod()
	c.recent[key] = same
	delete(c.earlier, key)
}

// endPeriod begins a new period after comparisonPeriod, or when there are too many objects.
func (c *comparisons) endPeriod() {
	if now := c.clock.Now(); len(c.recent) >= c.max || now.Sub(c.begun) >= comparisonPeriod {
		c.recent, c.earlier, c.begun = map[uint64]comparison{}, c.recent, now
	}
}

// key is a hash of the identity of an object. Two objects with the same hash only replace each other: the comparison covers the
// identity as well.
func (c *comparisons) key(id objectID) uint64 { return maphash.Comparable(c.seed, id) }

// upToDate reports whether applying want would be without effect: the same object was applied last, and live still contains it.
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

package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// apply writes the whole status: the parts that have changed, and the others as base has them.
func (s *Store[T]) apply(ctx context.Context, base T, batch []*change[T]) (T, error) {
	u, err := identity(base, s.client.Scheme())
	if err != nil {
		return base, err
	}
	if u.Object["status"], err = s.status(base, batch); err != nil {
		return base, err
	}
	return s.send(ctx, base, u)
}

// send applies u. It returns base with the status and the version of the answer.
func (s *Store[T]) send(ctx context.Context, base T, u *unstructured.Unstructured) (T, error) {
	if err := s.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(s.owner), client.ForceOwnership); err != nil {
		return base, err
	}
	answer := newObject[T]()
	text, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return base, fmt.Errorf("decoding the stored object: %w", err)
	}
	// The version was a precondition: the rest of the object is unchanged.
	stored := base.DeepCopyObject().(T)
	statusOf(stored).Set(statusOf(answer))
	stored.SetResourceVersion(answer.GetResourceVersion())
	stored.SetManagedFields(nil)
	return stored, nil
}

func statusOf(obj client.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

// status merges the parts, and adds the conditions that are derived from them.
func (s *Store[T]) status(base T, batch []*change[T]) (map[string]any, error) {
	after := map[*Part[T]]json.RawMessage{}
	for _, c := range batch {
		after[c.part] = c.after
	}
	s.mu.Lock()
	parts := slices.Clone(s.parts)
	s.mu.Unlock()
	status := map[string]any{}
	for _, p := range parts {
		text, changed := after[p]
		if !changed {
			var err error
			if text, err = json.Marshal(p.fields(base)); err != nil {
				return nil, fmt.Errorf("marshalling status: %w", err)
			}
		}
		if err := merge(status, text); err != nil {
			return nil, err
		}
	}
	return status, s.addDerived(base, status)
}

func merge(status map[string]any, part json.RawMessage) error {
	var fields map[string]any
	if err := json.Unmarshal(part, &fields); err != nil {
		return fmt.Errorf("status is not a JSON object: %w", err)
	}
	for name, value := range fields {
		previous, taken := status[name]
		conditions, ok := value.([]any)
		switch {
		case value == nil: // the same as a field that is left out
		case !taken:
			status[name] = value
		case name == "conditions" && ok:
			status[name] = append(previous.([]any), conditions...)
		default:
			return fmt.Errorf("two controllers write the field %s of one status", name)
		}
	}
	return nil
}

// compareVersions is positive if a is newer than b. Versions that cannot be compared
// count as the same: an API server refuses a write with the wrong one.
func compareVersions(a, b client.Object) int {
	newer, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	if err != nil {
		return 0
	}
	return newer
}

// identity is only kind, name, UID and resourceVersion of obj.
func identity(obj client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetUID(obj.GetUID())
	u.SetResourceVersion(obj.GetResourceVersion())
	return u, nil
}

func newObject[T client.Object]() T {
	var none T
	return reflect.New(reflect.TypeOf(none).Elem()).Interface().(T)
}

package reconcile

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// derivation computes conditions from the rest of a status.
type derivation[T client.Object] struct {
	types []string
	set   func(T, *Conditions)
}

// Derive makes the Store compute the conditions of those types in every write, from the
// rest of the status that is written. set reads only its arguments, and sets only these types. So a
// condition that depends on the conditions of several controllers changes together with them, and not
// in the reconcile that their write causes. Derive is called before the first write.
func (s *Store[T]) Derive(set func(T, *Conditions), types ...string) {
	s.derived = &derivation[T]{types: types, set: set}
}

// outdated is true if a derived condition does not follow from the rest of the status:
// an earlier version has derived it in another way.
func (s *Store[T]) outdated(obj T) bool {
	if s.derived == nil {
		return false
	}
	conditions := s.derive(obj, conditionsOf(obj))
	return slices.ContainsFunc(s.derived.types, func(t string) bool {
		return !equality.Semantic.DeepEqual(conditions.Before(t), conditions.Get(t))
	})
}

// derivedTurns is true if a derived condition becomes True, or is True no more.
func (s *Store[T]) derivedTurns(obj T) bool {
	if s.derived == nil {
		return false
	}
	conditions := s.derive(obj, conditionsOf(obj))
	return slices.ContainsFunc(s.derived.types, func(t string) bool {
		previous := conditions.Before(t)
		return conditions.IsTrue(t) != (previous != nil && previous.Status == metav1.ConditionTrue)
	})
}

func (s *Store[T]) derive(obj T, before []metav1.Condition) *Conditions {
	conditions := NewConditions(before, obj.GetGeneration(), s.clock.Now())
	s.derived.set(obj, conditions)
	return conditions
}

// addDerived adds the derived conditions to a status that is about to be written.
func (s *Store[T]) addDerived(base T, status map[string]any) error {
	if s.derived == nil {
		return nil
	}
	obj := base.DeepCopyObject().(T)
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("marshalling status: %w", err)
	}
	written := newObject[T]()
	if err := json.Unmarshal(text, written); err != nil {
		return fmt.Errorf("decoding status: %w", err)
	}
	statusOf(obj).Set(statusOf(written))
	before := conditionsOf(obj)
	for _, c := range conditionsOf(base) {
		if slices.Contains(s.derived.types, c.Type) {
			before = append(before, c)
		}
	}
	conditions := s.derive(obj, before)
	all, _ := status["conditions"].([]any)
	for _, t := range s.derived.types {
		if c := conditions.Get(t); c != nil {
			all = append(all, *c)
		}
	}
	if all != nil {
		status["conditions"] = all
	}
	return nil
}

func conditionsOf(obj any) []metav1.Condition {
	holder, ok := obj.(conditioned)
	if !ok {
		return nil
	}
	return slices.Clone(holder.GetConditions())
}

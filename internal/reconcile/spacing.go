package reconcile

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DefaultSpacing is a Spacing that combines most changes of an object that is being
// created, and that a user hardly notices.
const DefaultSpacing = 2 * time.Second

// recentWrite is the last write of a status by this process.
type recentWrite[T client.Object] struct {
	// at is the time of the write or, before the first one, of the creation of the object.
	at time.Time
	// postponed are the changes that wait.
	postponed map[*Part[T]]*change[T]
}

// postpone returns how long a change can wait, 0 if it has to be written now. If another
// controller writes the same status meanwhile, the change is written with it.
func (s *Store[T]) postpone(c *change[T]) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, at := client.ObjectKeyFromObject(c.obj), time.Time{}
	if last := s.recent[key]; last != nil {
		at = last.at
	} else if len(s.parts) > 1 {
		at = c.obj.GetCreationTimestamp().Time // the first controller to report waits for the others
	}
	remaining := c.part.spacing - s.clock.Since(at)
	if remaining <= 0 {
		return 0
	}
	s.recentOf(key, at).postponed[c.part] = c
	return remaining
}

// recentOf returns the record of an object, which it creates if it does not exist. The caller
// holds the lock.
func (s *Store[T]) recentOf(key client.ObjectKey, at time.Time) *recentWrite[T] {
	if s.recent[key] == nil {
		s.recent[key] = &recentWrite[T]{at: at, postponed: map[*Part[T]]*change[T]{}}
	}
	return s.recent[key]
}

// withdraw forgets a change that waits, because its controller reconciles the object
// again.
func (s *Store[T]) withdraw(p *Part[T], obj T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.recent[client.ObjectKeyFromObject(obj)]; last != nil {
		delete(last.postponed, p)
	}
}

// withPostponed adds the changes that wait to those that are about to be written. The
// caller holds the lock.
func (s *Store[T]) withPostponed(batch []*change[T]) []*change[T] {
	last := s.recent[client.ObjectKeyFromObject(batch[0].obj)]
	if last == nil {
		return batch
	}
	for p, c := range last.postponed {
		if !slices.ContainsFunc(batch, func(other *change[T]) bool { return other.part == p }) {
			batch = append(batch, c)
		}
	}
	clear(last.postponed)
	return batch
}

// noteWrite records when the status was written. A change without a part is one of
// finalizers.
func (s *Store[T]) noteWrite(batch []*change[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if batch[0].after == nil || !slices.ContainsFunc(s.parts, func(p *Part[T]) bool { return p.spacing > 0 }) {
		return
	}
	now := s.clock.Now()
	for key, last := range s.recent {
		if now.Sub(last.at) > retention {
			delete(s.recent, key)
		}
	}
	key := client.ObjectKeyFromObject(batch[0].obj)
	s.recentOf(key, now).at = now
}

// urgent is true unless the difference can wait.
func (p *Part[T]) urgent(before, after []byte) bool {
	if p.spacing == 0 {
		return true
	}
	previous, current := p.split(before), p.split(after)
	return !bytes.Equal(previous.others, current.others) || slices.ContainsFunc(p.prompt, func(t string) bool {
		return meta.IsStatusConditionTrue(previous.conditions, t) != meta.IsStatusConditionTrue(current.conditions, t)
	})
}

// split returns the conditions of a status, and the fields that cannot wait. A status
// that cannot be decoded is invalid, and the API server refuses it.
func (p *Part[T]) split(text []byte) (status struct {
	conditions []metav1.Condition
	others     []byte
}) {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(text, &fields) != nil {
		return status
	}
	_ = json.Unmarshal(fields["conditions"], &status.conditions)
	for _, name := range append([]string{"conditions"}, p.canWait...) {
		delete(fields, name)
	}
	status.others, _ = json.Marshal(fields)
	return status
}

// hasStatusField is true if the kind's status contains a field of that JSON name.
func hasStatusField[T client.Object](name string) bool {
	status, ok := reflect.TypeOf(newObject[T]()).Elem().FieldByName("Status")
	return ok && slices.ContainsFunc(reflect.VisibleFields(status.Type), func(f reflect.StructField) bool {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return tag == name
	})
}

package fakeaws

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// meta holds the fields of every resource of EC2.
type meta struct {
	id       string
	sequence int // order of creation, the order of lists
	born     time.Time
	tags     map[string]string
}

func (m *meta) base() *meta { return m }

type resource interface{ base() *meta }

type tag struct{ key, value string }

// store keeps the resources of one kind in one region, in order of creation and
// by tag: a look-up by owner tag stays cheap among ten thousand endpoints.
type store[T resource] struct {
	kind     string // as in a TagSpecification
	notFound string // EC2's code for an id it does not know
	items    map[string]T
	order    []T
	byTag    map[tag]map[string]T
}

func newStore[T resource](kind, notFound string) *store[T] {
	return &store[T]{kind: kind, notFound: notFound, items: map[string]T{}, byTag: map[tag]map[string]T{}}
}

func (s *store[T]) add(item T) {
	m := item.base()
	s.items[m.id] = item
	s.order = append(s.order, item)
	for k, v := range m.tags {
		s.index(tag{k, v}, item)
	}
}

func (s *store[T]) remove(id string) {
	item, ok := s.items[id]
	if !ok {
		return
	}
	delete(s.items, id)
	m := item.base()
	if i, ok := slices.BinarySearchFunc(s.order, m.sequence, bySequence[T]); ok {
		s.order = slices.Delete(s.order, i, i+1)
	}
	for k, v := range m.tags {
		s.unindex(tag{k, v}, id)
	}
}

func bySequence[T resource](item T, sequence int) int {
	return cmp.Compare(item.base().sequence, sequence)
}

func (s *store[T]) index(t tag, item T) {
	if s.byTag[t] == nil {
		s.byTag[t] = map[string]T{}
	}
	s.byTag[t][item.base().id] = item
}

func (s *store[T]) unindex(t tag, id string) {
	delete(s.byTag[t], id)
	if len(s.byTag[t]) == 0 {
		delete(s.byTag, t)
	}
}

// setTag gives the resource a tag, or another value of it.
func (s *store[T]) setTag(id, key, value string) {
	item := s.items[id]
	s.dropTag(id, key)
	m := item.base()
	if m.tags == nil {
		m.tags = map[string]string{}
	}
	m.tags[key] = value
	s.index(tag{key, value}, item)
}

func (s *store[T]) dropTag(id, key string) {
	m := s.items[id].base()
	if v, ok := m.tags[key]; ok {
		s.unindex(tag{key, v}, id)
		delete(m.tags, key)
	}
}

func (s *store[T]) has(id string) bool { _, ok := s.items[id]; return ok }

func (s *store[T]) tagsOf(id string) map[string]string { return s.items[id].base().tags }

// find returns the resource that a caller named by its id.
func (s *store[T]) find(q *request, id string) (T, error) {
	item, ok := s.items[id]
	if !ok || q.now.Before(item.base().born.Add(q.cloud.delays.Known)) {
		var none T
		return none, ec2Error(s.notFound, fmt.Sprintf("The %s ID '%s' does not exist", s.kind, id))
	}
	return item, nil
}

// candidates returns in order of creation the resources that can match the filters: resources with a tag that they require, or all.
func (s *store[T]) candidates(filters []filter) []T {
	best := -1
	var found []T
	for _, f := range filters {
		key, ok := f.tagKey()
		if !ok || f.wild {
			continue
		}
		n := 0
		for _, v := range f.values {
			n += len(s.byTag[tag{key, v}])
		}
		if best >= 0 && n >= best {
			continue
		}
		best, found = n, make([]T, 0, n)
		for _, v := range f.values {
			for _, item := range s.byTag[tag{key, v}] {
				found = append(found, item)
			}
		}
	}
	if best < 0 {
		return s.order
	}
	slices.SortFunc(found, func(a, b T) int { return cmp.Compare(a.base().sequence, b.base().sequence) })
	return slices.CompactFunc(found, func(a, b T) bool { return a.base() == b.base() })
}

// storeOf returns a store of a map's resources, e.g. of one service's principals.
func storeOf[T resource](items map[string]T) *store[T] {
	s := newStore[T]("", "")
	for _, item := range slices.SortedFunc(maps.Values(items), func(a, b T) int { return cmp.Compare(a.base().sequence, b.base().sequence) }) {
		s.add(item)
	}
	return s
}

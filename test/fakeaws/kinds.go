package fakeaws

import (
	"cmp"
	"slices"
)

// A kind is a type of EC2 resource. It is declared in the file of the resource,
// which needs no change elsewhere: tags and snapshots go through all kinds.
type kind[T resource] struct {
	prefix   string // of ids
	name     string // in a TagSpecification
	notFound string // EC2's code for an id that it does not know

	// label returns the text in place of an id in a snapshot, line the text for a whole resource. Nil for no text.
	label func(T) string
	line  func(*picture, T) string
}

// declared is a kind, whatever its resources are.
type declared interface {
	idPrefix() string
	open() taggable
	addLabels(*picture, *region)
	draw(*picture, *region)
}

// kinds lists longer prefixes first: a prefix can begin with another.
var kinds []declared

func declare[T resource](prefix, name, notFound string) *kind[T] {
	k := &kind[T]{prefix: prefix, name: name, notFound: notFound}
	kinds = append(kinds, k)
	slices.SortStableFunc(kinds, func(a, b declared) int { return cmp.Compare(len(b.idPrefix()), len(a.idPrefix())) })
	return k
}

func (k *kind[T]) idPrefix() string { return k.prefix }

func (k *kind[T]) open() taggable { return newStore[T](k.name, k.notFound) }

// in returns the resources in a region.
func (k *kind[T]) in(r *region) *store[T] { return r.stores[k.prefix].(*store[T]) }

func (k *kind[T]) addLabels(p *picture, r *region) {
	if k.label == nil {
		return
	}
	for _, item := range k.in(r).order {
		p.names[item.base().id] = k.label(item)
	}
}

func (k *kind[T]) draw(p *picture, r *region) {
	if k.line == nil {
		return
	}
	for _, item := range k.in(r).order {
		p.line("%s %s %s", r.account.id, r.name, k.line(p, item))
	}
}

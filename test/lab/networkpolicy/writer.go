package networkpolicy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/knftables"
)

// tableName is the name of this package's table, which has no other writer.
const tableName = "networkpolicy"

// writer keeps the table in the kernel equal to the last one written.
type writer struct {
	nft     knftables.Interface
	written *table // nil: unknown, the next write replaces the whole table
}

func newWriter() (*writer, error) {
	nft, err := knftables.New(knftables.InetFamily, tableName)
	if err != nil {
		return nil, fmt.Errorf("using nftables: %w", err)
	}
	return &writer{nft: nft}, nil
}

// write changes the table to want in one transaction: every packet meets either the old rules or the new ones.
func (w *writer) write(ctx context.Context, want table) error {
	tx := w.nft.NewTransaction()
	have := table{}
	if w.written == nil {
		// Delete fails without a table.
		tx.Add(&knftables.Table{})
		tx.Delete(&knftables.Table{})
		tx.Add(&knftables.Table{Comment: ptr.To("NetworkPolicies")})
	} else {
		have = *w.written
	}
	change(tx, have, want)
	if tx.NumOperations() == 0 {
		return nil
	}
	if err := w.nft.Run(ctx, tx); err != nil {
		w.written = nil
		return fmt.Errorf("writing rules: %w", err)
	}
	w.written = &want
	return nil
}

// change computes the transaction between two tables. Objects are created before references to them, and deleted after
// these.
func change(tx *knftables.Transaction, have, want table) {
	addObjects(tx, have, want)
	for _, name := range keys(want.chains) {
		c, old := want.chains[name], have.chains[name]
		if slices.Equal(c.rules, old.rules) {
			continue
		}
		tx.Flush(&knftables.Chain{Name: name})
		for _, rule := range c.rules {
			tx.Add(&knftables.Rule{Chain: name, Rule: rule})
		}
	}
	for _, name := range keys(want.sets) {
		changeElements(tx, name, have.sets[name], want.sets[name])
	}
	removeObjects(tx, have, want)
}

// addObjects adds missing chains and sets, empty.
func addObjects(tx *knftables.Transaction, have, want table) {
	for _, name := range keys(want.sets) {
		if _, there := have.sets[name]; !there {
			tx.Add(want.sets[name].object(name))
		}
	}
	for _, name := range keys(want.chains) {
		if _, there := have.chains[name]; !there {
			tx.Add(want.chains[name].object(name))
		}
	}
}

func changeElements(tx *knftables.Transaction, name string, have, want set) {
	for _, key := range keys(have.elements) {
		if value, wanted := want.elements[key]; !wanted || value != have.elements[key] {
			tx.Delete(have.element(name, key))
		}
	}
	for _, key := range keys(want.elements) {
		if value, there := have.elements[key]; !there || value != want.elements[key] {
			tx.Add(want.element(name, key))
		}
	}
}

// removeObjects removes unwanted objects: first the rules that refer to others.
func removeObjects(tx *knftables.Transaction, have, want table) {
	chains, sets := maps.Clone(have.chains), maps.Clone(have.sets)
	maps.DeleteFunc(chains, func(name string, _ chain) bool { _, wanted := want.chains[name]; return wanted })
	maps.DeleteFunc(sets, func(name string, _ set) bool { _, wanted := want.sets[name]; return wanted })
	for _, name := range keys(chains) {
		tx.Flush(&knftables.Chain{Name: name})
	}
	for _, name := range keys(chains) {
		tx.Delete(&knftables.Chain{Name: name})
	}
	for _, name := range keys(sets) {
		tx.Delete(sets[name].object(name))
	}
}

func (s set) object(name string) knftables.Object {
	if s.verdicts {
		return &knftables.Map{Name: name, Type: s.of + " : verdict"}
	}
	return &knftables.Set{Name: name, Type: s.of}
}

func (s set) element(name, key string) knftables.Object {
	e := &knftables.Element{Key: strings.Split(key, " . ")}
	if s.verdicts {
		e.Map, e.Value = name, []string{s.elements[key]}
	} else {
		e.Set = name
	}
	return e
}

func (c chain) object(name string) knftables.Object {
	object := &knftables.Chain{Name: name}
	if c.comment != "" {
		object.Comment = ptr.To(c.comment)
	}
	if c.hook != "" {
		object.Type = ptr.To(knftables.FilterType)
		object.Hook = ptr.To(knftables.BaseChainHook(c.hook))
		object.Priority = ptr.To(knftables.BaseChainPriority(c.priority))
	}
	return object
}

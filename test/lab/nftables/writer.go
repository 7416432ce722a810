package nftables

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/knftables"
)

// A Writer keeps a table in the kernel equal to the last one written. It is the only writer of its table.
type Writer struct {
	// NFT is the interface to the kernel, Comment the comment of the table.
	NFT     knftables.Interface
	Comment string
	written *Table // nil: unknown, the next write replaces the whole table
}

// NewWriter returns the writer of a table of family inet in the network namespace of each later call.
func NewWriter(name, comment string) (*Writer, error) {
	nft, err := knftables.New(knftables.InetFamily, name)
	if err != nil {
		return nil, fmt.Errorf("using nftables: %w", err)
	}
	return &Writer{NFT: nft, Comment: comment}, nil
}

// Write changes the table to want in one transaction: every packet meets either the old rules or the new ones.
func (w *Writer) Write(ctx context.Context, want Table) error {
	tx := w.NFT.NewTransaction()
	have := Table{}
	if w.written == nil {
		// Delete fails without a table.
		tx.Add(&knftables.Table{})
		tx.Delete(&knftables.Table{})
		tx.Add(&knftables.Table{Comment: ptr.To(w.Comment)})
	} else {
		have = *w.written
	}
	change(tx, have, want)
	if tx.NumOperations() == 0 {
		return nil
	}
	if err := w.NFT.Run(ctx, tx); err != nil {
		w.written = nil
		return fmt.Errorf("writing rules: %w", err)
	}
	w.written = &want
	return nil
}

// change computes the transaction between two tables. Objects are created before references to them, and deleted after
// these.
func change(tx *knftables.Transaction, have, want Table) {
	addObjects(tx, have, want)
	for _, name := range sorted(want.Chains) {
		c, old := want.Chains[name], have.Chains[name]
		if slices.Equal(c.Rules, old.Rules) {
			continue
		}
		tx.Flush(&knftables.Chain{Name: name})
		for _, rule := range c.Rules {
			tx.Add(&knftables.Rule{Chain: name, Rule: rule})
		}
	}
	for _, name := range sorted(want.Sets) {
		changeElements(tx, name, have.Sets[name], want.Sets[name])
	}
	removeObjects(tx, have, want)
}

// addObjects adds missing chains and sets, empty.
func addObjects(tx *knftables.Transaction, have, want Table) {
	for _, name := range sorted(want.Sets) {
		if _, there := have.Sets[name]; !there {
			tx.Add(want.Sets[name].object(name))
		}
	}
	for _, name := range sorted(want.Chains) {
		if _, there := have.Chains[name]; !there {
			tx.Add(want.Chains[name].object(name))
		}
	}
}

func changeElements(tx *knftables.Transaction, name string, have, want Set) {
	for _, key := range sorted(have.Elements) {
		if value, wanted := want.Elements[key]; !wanted || value != have.Elements[key] {
			tx.Delete(have.element(name, key))
		}
	}
	for _, key := range sorted(want.Elements) {
		if value, there := have.Elements[key]; !there || value != want.Elements[key] {
			tx.Add(want.element(name, key))
		}
	}
}

// removeObjects removes unwanted objects: first the rules that refer to others.
func removeObjects(tx *knftables.Transaction, have, want Table) {
	chains, sets := maps.Clone(have.Chains), maps.Clone(have.Sets)
	maps.DeleteFunc(chains, func(name string, _ Chain) bool { _, wanted := want.Chains[name]; return wanted })
	maps.DeleteFunc(sets, func(name string, _ Set) bool { _, wanted := want.Sets[name]; return wanted })
	for _, name := range sorted(chains) {
		tx.Flush(&knftables.Chain{Name: name})
	}
	for _, name := range sorted(chains) {
		tx.Delete(&knftables.Chain{Name: name})
	}
	for _, name := range sorted(sets) {
		tx.Delete(sets[name].object(name))
	}
}

func (s Set) object(name string) knftables.Object {
	if s.Values != "" {
		return &knftables.Map{Name: name, Type: s.Keys + " : " + s.Values}
	}
	return &knftables.Set{Name: name, Type: s.Keys}
}

func (s Set) element(name, key string) knftables.Object {
	e := &knftables.Element{Key: strings.Split(key, " . ")}
	if s.Values != "" {
		e.Map, e.Value = name, []string{s.Elements[key]}
	} else {
		e.Set = name
	}
	return e
}

func (c Chain) object(name string) knftables.Object {
	object := &knftables.Chain{Name: name}
	if c.Comment != "" {
		object.Comment = ptr.To(c.Comment)
	}
	if c.Hook != "" {
		object.Type = ptr.To(knftables.BaseChainType(cmp.Or(c.Type, string(knftables.FilterType))))
		object.Hook = ptr.To(knftables.BaseChainHook(c.Hook))
		object.Priority = ptr.To(knftables.BaseChainPriority(c.Priority))
	}
	return object
}

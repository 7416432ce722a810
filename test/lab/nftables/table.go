package nftables

import (
	"maps"
	"slices"
)

// A Table is an nftables table as text.
type Table struct {
	// Sets and Chains by name.
	Sets   map[string]Set
	Chains map[string]Chain
}

// A Set is a set, or a map if its elements have values.
type Set struct {
	// Keys is the type of the keys, Values the type of the values of a map; empty for a set.
	Keys, Values string
	// Elements are the keys, with the values of a map.
	Elements map[string]string
}

// Verdict is the type of the values of a map from which rules jump to chains.
const Verdict = "verdict"

// A Chain is a list of rules. A base chain sets Hook.
type Chain struct {
	Hook, Priority string
	// Type of a base chain; empty for filter.
	Type    string
	Comment string
	Rules   []string
}

// NewTable returns an empty table.
func NewTable() Table { return Table{Sets: map[string]Set{}, Chains: map[string]Chain{}} }

// NewSet returns an empty set of keys of a type.
func NewSet(keys string) Set { return Set{Keys: keys, Elements: map[string]string{}} }

// NewMap returns an empty map.
func NewMap(keys, values string) Set {
	return Set{Keys: keys, Values: values, Elements: map[string]string{}}
}

// sorted returns the keys in order, so that transactions are deterministic.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

package resourcegraph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Attributes describe a resource, by the name of the attribute that a plan shows.
type Attributes map[string]string

// IDs returns the id of the resource of another node, or "" if it does not exist yet.
type IDs func(node string) string

// Observed is the result of a read. The zero value means that the resource does not exist.
type Observed struct {
	ID         string
	Attributes Attributes
	// Pending is the wait of the resource, such as "state pending". Empty means ready.
	Pending string
}

// Exists is true if the read has found the resource.
func (o Observed) Exists() bool { return o.ID != "" }

// Lookup is the input of a read.
type Lookup struct {
	// ID is the recorded id. It decides if several resources match. Empty: look the resource up by its ownership tag.
	ID string
	// Recorded: a creation is recorded. Its outcome may be unknown. It marks a resource as ours that could not carry its
	// ownership tag from the call that created it.
	Recorded bool
	IDs      IDs
	// Fresh: do not use a list that was read before.
	Fresh bool
}

// Creation is the input of a creation.
type Creation struct {
	IDs     IDs
	Desired Attributes
	// Token is the same in every attempt to create the same resource, in later runs, too.
	Token string
}

// Update is the input of a change.
type Update struct {
	IDs      IDs
	Desired  Attributes
	Observed Observed
	Changes  []Change
}

// Change is a difference between an observed and a desired attribute.
type Change struct{ Attribute, Old, New string }

// NotOwnedError is returned by a read that finds a resource in the place of ours without our ownership tag. It is neither
// changed nor deleted.
type NotOwnedError struct{ Kind, ID, Want string }

func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("%s %s exists and does not carry the tag %s: it is neither changed nor deleted", e.Kind, e.ID, e.Want)
}

// Node is one resource, or one attachment or attribute of another resource that takes a call of its own.
type Node struct {
	// ID is unique in the graph and stable: it is the key in the state file.
	ID         string
	Kind, Name string
	// Parent is the node under which a plan shows this one. Default: the first dependency.
	Parent    string
	DependsOn []string

	// Desired returns the attributes that are compared. Nil: existence is enough.
	Desired func(IDs) Attributes
	// Immutable attributes cannot be changed. Drift of one is an error.
	Immutable []string
	// Repeatable: a second creation with the same token, or of the same name, does not create a second resource.
	Repeatable bool

	// ReadsAlone: Read uses no ids of dependencies, and does not wait for their reads.
	ReadsAlone bool
	// Read returns the resource if it exists.
	Read func(context.Context, Lookup) (Observed, error)
	// Create is nil for a resource that is only looked up.
	Create func(context.Context, Creation) (Observed, error)
	// Update is nil if every attribute is immutable.
	Update func(context.Context, Update) error
	// Delete is nil if the resource disappears with another one. It returns when the deletion is accepted.
	Delete func(context.Context, Observed) error
	// SlowDeletion: after Delete, the resource is read until it is gone.
	SlowDeletion bool
	// Missing is the error for a resource without Create that does not exist.
	Missing error

	// State records the creation of the resource. Default: the state of the engine.
	State *State
	// Classify returns the class of an error of this node's functions. Default: that of the engine.
	Classify func(error) Class
}

func (n *Node) label() string {
	if n.Name == "" {
		return n.Kind
	}
	return n.Kind + " " + n.Name
}

func (n *Node) desired(ids IDs) Attributes {
	if n.Desired == nil {
		return nil
	}
	return n.Desired(ids)
}

// diff compares only the desired attributes: others may add their own.
func diff(desired, observed Attributes) []Change {
	var changes []Change
	for _, k := range slices.Sorted(maps.Keys(desired)) {
		if observed[k] != desired[k] {
			changes = append(changes, Change{k, observed[k], desired[k]})
		}
	}
	return changes
}

// Graph is a set of nodes without cycles.
type Graph struct {
	nodes []*Node // dependencies first
	byID  map[string]*Node
	// prefetch fills the lists that reads use, while the first reads run. Errors are ignored: the reads return them.
	prefetch []func(context.Context) error
}

// New returns the graph of the nodes.
func New(nodes ...*Node) (*Graph, error) {
	g := &Graph{byID: map[string]*Node{}}
	var errs []error
	for _, n := range nodes {
		if g.byID[n.ID] != nil {
			errs = append(errs, fmt.Errorf("node %q is twice in the graph", n.ID))
		}
		g.byID[n.ID] = n
	}
	const inProgress, done = 1, 2
	marks := map[string]int{}
	var visit func(n *Node)
	visit = func(n *Node) {
		switch marks[n.ID] {
		case done:
			return
		case inProgress:
			errs = append(errs, fmt.Errorf("node %q depends on itself", n.ID))
			return
		}
		marks[n.ID] = inProgress
		for _, d := range n.DependsOn {
			if g.byID[d] == nil {
				errs = append(errs, fmt.Errorf("node %q depends on %q, which is not in the graph", n.ID, d))
				continue
			}
			visit(g.byID[d])
		}
		marks[n.ID] = done
		g.nodes = append(g.nodes, n)
	}
	for _, n := range nodes {
		visit(n)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return g, nil
}

// Prefetch adds calls that are made at once with the first reads.
func (g *Graph) Prefetch(calls ...func(context.Context) error) {
	g.prefetch = append(g.prefetch, calls...)
}

// Nodes returns the nodes, dependencies first.
func (g *Graph) Nodes() []*Node { return g.nodes }

func (g *Graph) parent(n *Node) string {
	switch {
	case n.Parent != "" && g.byID[n.Parent] != nil:
		return n.Parent
	case n.Parent == "" && len(n.DependsOn) > 0:
		return n.DependsOn[0]
	}
	return ""
}

package resourcegraph

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hosted-control-planes/hypershift/internal/cli/palette"
)

const (
	// inSeveral is the number of new resources from which on an attribute that they share is written once.
	inSeveral = 3
	// longest is the number of characters of a value that are written.
	longest = 80
)

// WriteOptions define the output of Write.
type WriteOptions struct {
	// Verbose: every resource, and every attribute in full.
	Verbose bool
	Palette palette.Palette
}

// Write writes the plan as a tree, with the changes and the resources above them. New resources are one line each, attributes that
// several of them share are at the end, and long values are cut.
func (p *Plan) Write(w io.Writer, o WriteOptions) {
	t := planWriter{Plan: p, WriteOptions: o, w: w, children: map[string][]*Node{}}
	for _, n := range p.graph.nodes {
		parent := p.graph.parent(n)
		t.children[parent] = append(t.children[parent], n)
	}
	if !o.Verbose {
		t.shared = p.sharedAttributes()
	}
	t.below("", "")
	for _, c := range t.shared {
		fmt.Fprintf(w, "in %d new resources: %s: %s\n", c.resources, c.Attribute, shortened(c.New))
	}
	fmt.Fprintf(w, "%d to create, %d to update, %d to delete, %d unchanged\n", p.Count(Create), p.Count(Modify), p.Count(Delete), p.Count(None))
}

// planWriter writes a plan.
type planWriter struct {
	*Plan
	WriteOptions
	w        io.Writer
	children map[string][]*Node
	shared   []sharedAttribute
}

// sharedAttribute is an attribute that new resources have with the same value.
type sharedAttribute struct {
	Change
	resources int
}

// sharedAttributes returns the attributes that several new resources share, in the order of their names.
func (p *Plan) sharedAttributes() []sharedAttribute {
	count := map[Change]int{}
	for _, s := range p.steps {
		for _, c := range s.Changes {
			if s.Action == Create && c.New != "" && c.New != s.Node.Name {
				count[c]++
			}
		}
	}
	var shared []sharedAttribute
	for c, resources := range count {
		if resources >= inSeveral {
			shared = append(shared, sharedAttribute{c, resources})
		}
	}
	slices.SortFunc(shared, func(a, b sharedAttribute) int {
		return cmp.Or(strings.Compare(a.Attribute, b.Attribute), strings.Compare(a.New, b.New))
	})
	return shared
}

func (t *planWriter) below(parent, indent string) {
	for _, n := range t.children[parent] {
		if t.shown(n) {
			t.step(t.steps[n.ID], indent)
		}
		t.below(n.ID, indent+"  ")
	}
}

func (t *planWriter) shown(n *Node) bool {
	return t.Verbose || t.steps[n.ID].Action != None || slices.ContainsFunc(t.children[n.ID], t.shown)
}

func (t *planWriter) step(s *Step, indent string) {
	line := indent + t.sign(s.Action) + " " + s.Node.label()
	if s.Observed.ID != "" && s.Observed.ID != s.Node.Name {
		line += " (" + s.Observed.ID + ")"
	}
	if s.Action == Create && !t.Verbose {
		line += t.summary(s)
	}
	fmt.Fprintln(t.w, line)
	if s.Reason != "" {
		fmt.Fprintf(t.w, "%s      %s\n", indent, s.Reason)
	}
	if s.Action == Create && !t.Verbose {
		return
	}
	for _, c := range s.Changes {
		text := cmp.Or(c.New, "(known later)")
		if !t.Verbose {
			text = shortened(text)
		}
		if s.Action != Create {
			text = cmp.Or(c.Old, "(none)") + " -> " + text
		}
		fmt.Fprintf(t.w, "%s      %s: %s\n", indent, c.Attribute, text)
	}
}

// sign returns the mark of an action.
func (t *planWriter) sign(a Action) string {
	switch a {
	case Create:
		return t.Palette.Good("+")
	case Modify:
		return t.Palette.Warning("~")
	case Delete:
		return t.Palette.Bad("-")
	case Keep:
		return "="
	default:
		return " "
	}
}

// summary are the attributes of a new resource that are its own and known, without its name.
func (t *planWriter) summary(s *Step) string {
	var own []string
	for _, c := range s.Changes {
		if c.New != "" && c.New != s.Node.Name && !slices.ContainsFunc(t.shared, func(a sharedAttribute) bool { return a.Change == c }) {
			own = append(own, c.Attribute+" "+shortened(c.New))
		}
	}
	if len(own) == 0 {
		return ""
	}
	return ": " + strings.Join(own, ", ")
}

// shortened cuts a long value, and names its length.
func shortened(value string) string {
	length := utf8.RuneCountInString(value)
	if length <= longest {
		return value
	}
	return fmt.Sprintf("%s... (%d characters)", string([]rune(value)[:longest/2]), length)
}

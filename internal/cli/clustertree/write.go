package clustertree

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hosted-control-planes/hypershift/internal/cli/palette"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

// Options define the output of Write.
type Options struct {
	// All prints every object and every condition. Otherwise, only conditions that are not normal are printed, and objects of a
	// kind in their normal state are one row.
	All bool
	// Width is the width of the terminal, at which messages are wrapped; 0: they are not.
	Width   int
	Now     time.Time
	Palette palette.Palette
}

// row is a line of the table. Cells are NAME, READY, REASON and SINCE.
type row struct {
	cells   [4]string
	message string
	// paint colours the cell READY.
	paint func(string) string
	// below continues the lines of the tree under the row.
	below string
}

// Write prints the tree as a table.
func Write(w io.Writer, root *Node, o Options) error {
	rows := []row{{cells: [4]string{"NAME", "READY", "REASON", "SINCE"}, message: "MESSAGE"}}
	rows = o.rows(rows, root, "", "")
	var widths [4]int
	for _, r := range rows {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	left := 0
	for _, width := range widths {
		left += width + gap
	}
	for _, r := range rows {
		lines := []string{r.message}
		if o.Width > 0 {
			lines = wrap(r.message, max(o.Width-left, minMessage))
		}
		for i, line := range lines {
			var b strings.Builder
			for j, cell := range r.cells {
				if i > 0 {
					cell = ""
					if j == 0 {
						cell = r.below
					}
				}
				padding := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+gap)
				if j == 1 && r.paint != nil {
					cell = r.paint(cell)
				}
				b.WriteString(cell + padding)
			}
			b.WriteString(line)
			if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
				return fmt.Errorf("writing the tree: %w", err)
			}
		}
	}
	return nil
}

const (
	// gap is between columns.
	gap = 2
	// minMessage is the smallest width of messages. On a terminal that is too narrow, lines get longer than it.
	minMessage = 40
)

// rows appends the rows of a node: its own, its conditions' and its children's. prefix is before the rows below it.
func (o Options) rows(rows []row, n *Node, branch, prefix string) []row {
	conditions, children := o.shown(n), o.grouped(n.Children)
	remaining := len(conditions) + len(children)
	below := prefix
	if remaining > 0 {
		below += "│"
	}
	own := o.row(branch+n.title(), n.State, n.Detail)
	own.below = below
	rows = append(rows, own)
	next := func() (branch, below string) {
		remaining--
		if remaining > 0 {
			return prefix + "├─", prefix + "│ "
		}
		return prefix + "└─", prefix + "  "
	}
	for i := range conditions {
		branch, below := next()
		r := o.row(branch+"["+conditions[i].Type+"]", &conditions[i], "")
		r.below = below
		rows = append(rows, r)
	}
	for _, c := range children {
		branch, below := next()
		rows = o.rows(rows, c, branch, below)
	}
	return rows
}

func (n *Node) title() string {
	if n.Namespace != "" && (n.Kind == "HostedCluster" || n.Kind == "HostedControlPlane") {
		return n.Kind + " " + n.Namespace + "/" + n.Name
	}
	return n.Kind + " " + n.Name
}

func (o Options) row(name string, state *Condition, detail string) row {
	r := row{message: detail}
	r.cells[0] = name
	if state == nil {
		return r
	}
	r.cells[1], r.paint = string(state.Status), o.Palette.Bad
	if state.Normal {
		r.paint = o.Palette.Good
	}
	if !state.Normal || o.All {
		r.cells[2] = state.Reason
	}
	if state.Since != nil && !state.Since.IsZero() {
		r.cells[3] = duration.HumanDuration(o.Now.Sub(state.Since.Time))
	}
	// The messages of normal states repeat the status.
	if text := oneline.Of(state.Message); text != "" && (!state.Normal || o.All) {
		if r.message != "" {
			r.message += ": "
		}
		r.message += text
	}
	return r
}

// shown returns the conditions that have rows. The condition of the object's state has no row: the object's row shows the same.
func (o Options) shown(n *Node) []Condition {
	if o.All {
		return n.Conditions
	}
	var shown []Condition
	for _, c := range n.Conditions {
		if c.Normal || n.State != nil && (c.Type == n.State.Type || n.State.Message != "" && c.Reason == n.State.Reason && c.Message == n.State.Message) {
			continue
		}
		shown = append(shown, c)
	}
	return shown
}

// quiet is true if the node and everything below it is in its normal state.
func (n *Node) quiet() bool {
	if n.State != nil && !n.State.Normal {
		return false
	}
	for _, c := range n.Conditions {
		if !c.Normal {
			return false
		}
	}
	for _, c := range n.Children {
		if !c.quiet() {
			return false
		}
	}
	return true
}

// Healthy is true if every object is in its normal state.
func (n *Node) Healthy() bool { return n.quiet() }

// collapsible are the kinds of which a cluster has many.
var collapsible = map[string]string{"ControlPlaneComponent": "ControlPlaneComponents", "Machine": "Machines"}

// listed is how many objects of a group are named.
const listed = 3

// grouped replaces the objects of a kind in their normal state by one node, if they are more than one.
func (o Options) grouped(children []*Node) []*Node {
	if o.All {
		return children
	}
	groups := map[string][]*Node{}
	for _, c := range children {
		if collapsible[c.Kind] != "" && c.quiet() {
			groups[c.Kind] = append(groups[c.Kind], c)
		}
	}
	var out []*Node
	done := map[string]bool{}
	for _, c := range children {
		group := groups[c.Kind]
		switch {
		case len(group) < 2 || !c.quiet():
			out = append(out, c)
		case !done[c.Kind]:
			done[c.Kind] = true
			out = append(out, collapsed(c.Kind, group))
		}
	}
	return out
}

func collapsed(kind string, group []*Node) *Node {
	var names []string
	var since *metav1.Time
	for i, n := range group {
		if i < listed {
			names = append(names, n.Name)
		}
		if n.State != nil && n.State.Since != nil && (since == nil || since.Before(n.State.Since)) {
			since = n.State.Since
		}
	}
	detail := strings.Join(names, ", ")
	if len(group) > listed {
		detail += fmt.Sprintf(" and %d more", len(group)-listed)
	}
	return &Node{
		Kind: fmt.Sprint(len(group)), Name: collapsible[kind], Detail: detail,
		State: &Condition{Status: metav1.ConditionTrue, Normal: true, Since: since},
	}
}

// wrap breaks a text at spaces.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

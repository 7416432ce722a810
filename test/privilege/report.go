package privilege

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Report compares what holders may do with what they did.
type Report struct {
	Title   string
	Holders []Holder
	Use     *Use
	// Reasons say why something is granted that nothing uses, see reasons.go.
	Reasons []Reason
}

// Refused is an error that names what was refused and should not have been, or nil.
func (r Report) Refused() error {
	var errs []error
	for _, refusal := range r.Use.Refused {
		if find(OnPurpose, refusal.Holder, refusal.Right) != "" {
			continue
		}
		errs = append(errs, fmt.Errorf("%s may not %s %s: %s", refusal.Holder, refusal.Right.Verb, refusal.Right.Thing, refusal.Message))
	}
	return errors.Join(errs...)
}

// unused are the rights of a holder that it did not use.
func (r Report) unused(holder Holder) []Right {
	rights := map[Right]bool{}
	for _, grant := range holder.Grants {
		for _, right := range grant.Rights {
			if r.Use.Counts[holder.Name][right] == 0 {
				rights[right] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(rights), compare)
}

// Write writes both tables in Markdown.
func (r Report) Write(w io.Writer) {
	fmt.Fprintf(w, "## %s\n\n", r.Title)
	if len(r.Use.Refused) == 0 {
		fmt.Fprint(w, "Refused: nothing.\n\n")
	} else {
		table(w, "refused", "what", "why")
		for _, refusal := range r.Use.Refused {
			row(w, refusal.Holder, refusal.Right.Verb+" "+refusal.Right.Thing, cmp.Or(find(OnPurpose, refusal.Holder, refusal.Right), refusal.Message))
		}
		fmt.Fprintln(w)
	}
	table(w, "granted and never used", "what", "why it is granted")
	for _, holder := range r.Holders {
		for _, l := range lines(r.unused(holder), func(right Right) string { return cmp.Or(r.reason(holder, right), "?") }) {
			row(w, holder.Name, l.what(), l.why)
		}
	}
	fmt.Fprintln(w)
}

// line is what a table says in one row: verbs on one thing, for one reason.
type line struct {
	thing, why string
	verbs      []string
}

func (l line) what() string { return l.thing + ": " + strings.Join(l.verbs, ", ") }

// lines gathers sorted rights.
func lines(rights []Right, why func(Right) string) (all []line) {
	for _, right := range rights {
		reason := why(right)
		i := slices.IndexFunc(all, func(l line) bool { return l.thing == right.Thing && l.why == reason })
		if i < 0 {
			i = len(all)
			all = append(all, line{thing: right.Thing, why: reason})
		}
		all[i].verbs = append(all[i].verbs, right.Verb)
	}
	return all
}

func compare(a, b Right) int {
	return cmp.Or(cmp.Compare(a.Thing, b.Thing), cmp.Compare(a.Verb, b.Verb))
}

func table(w io.Writer, columns ...string) {
	row(w, columns...)
	fmt.Fprintln(w, "|"+strings.Repeat("---|", len(columns)))
}

func row(w io.Writer, cells ...string) {
	fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |")
}

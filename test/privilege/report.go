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

// Report compares the rights of holders with their use.
type Report struct {
	Title   string
	Holders []Holder
	Use     *Use
	// Reasons explain unused rights, see reasons.go.
	Reasons []Reason
}

// InKubernetes compares service accounts with their requests.
func InKubernetes(accounts []Holder, use *Use) Report {
	return Report{Title: "Kubernetes", Holders: accounts, Use: use, Reasons: unusedByAccounts}
}

// InAWS compares roles with their calls.
func InAWS(roles []Holder, use *Use) Report {
	return Report{Title: "AWS", Holders: roles, Use: use, Reasons: unusedByRoles}
}

// Refused returns an error that names the requests that should not have been refused, or nil.
func (r Report) Refused() error {
	var errs []error
	for _, refusal := range r.Use.Refused {
		if find(OnPurpose, refusal.Holder, refusal.Right) != "" || find(Early, refusal.Holder, refusal.Right) != "" {
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
		table(w, "Refused", "Permission", "Reason")
		for _, refusal := range r.Use.Refused {
			row(w, refusal.Holder, refusal.Right.Verb+" "+refusal.Right.Thing, cmp.Or(find(OnPurpose, refusal.Holder, refusal.Right), find(Early, refusal.Holder, refusal.Right), refusal.Message))
		}
		fmt.Fprintln(w)
	}
	table(w, "Granted and never used", "Permission", "Reason for the grant")
	for _, holder := range r.Holders {
		for _, l := range lines(r.unused(holder), func(right Right) string { return cmp.Or(r.reason(holder, right), "?") }) {
			row(w, holder.Name, l.what, l.why)
		}
	}
	fmt.Fprintln(w)
}

// line is one row of a table: rights with one reason.
type line struct{ what, why string }

// lines gathers sorted rights by why there are.
func lines(rights []Right, why func(Right) string) (all []line) {
	var reasons []string
	by := map[string][]Right{}
	for _, right := range rights {
		reason := why(right)
		if by[reason] == nil {
			reasons = append(reasons, reason)
		}
		by[reason] = append(by[reason], right)
	}
	for _, reason := range reasons {
		all = append(all, line{words(by[reason]), reason})
	}
	return all
}

// words names sorted rights, each thing once.
func words(rights []Right) string {
	var w strings.Builder
	for i, right := range rights {
		switch {
		case i > 0 && rights[i-1].Thing == right.Thing:
			w.WriteString(", ")
		case i > 0:
			w.WriteString("; ")
			fallthrough
		default:
			w.WriteString(right.Thing + ": ")
		}
		w.WriteString(right.Verb)
	}
	return w.String()
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

package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Row is a line of the table: a SIG, or the total.
type Row struct {
	SIG                               string
	List, Ran, Passed, Failed, NotRun int
	// Skipped are the specs that skipped themselves, Explained those that failed for a reason that is known. Both are only beyond the conformance tests.
	Skipped, Explained int
	Seconds            float64
}

// add counts specs with the same result.
func (r *Row) add(s Spec, specs int) {
	r.List, r.Seconds = r.List+specs, r.Seconds+s.Seconds
	if s.State == Skipped {
		r.Skipped += specs
		return
	}
	r.Ran += specs
	switch {
	case s.State == Passed:
		r.Passed += specs
	case s.unexplained():
		r.Failed += specs
	default:
		r.Explained += specs
	}
}

// Rows are the SIGs in alphabetical order, and the total.
func (r *Report) Rows() []Row {
	rows, total := map[string]*Row{}, Row{SIG: "total"}
	of := func(sig string) *Row {
		if rows[sig] == nil {
			rows[sig] = &Row{SIG: sig}
		}
		return rows[sig]
	}
	for _, s := range r.Specs {
		if s.State == Skipped && !r.Beyond {
			continue // it is among those that did not run
		}
		for _, row := range []*Row{of(SIG(s.Name)), &total} {
			row.add(s, 1)
		}
	}
	for _, c := range r.Counts {
		for _, row := range []*Row{of(c.SIG), &total} {
			row.add(Spec{State: c.State, Seconds: c.Seconds}, c.Specs)
		}
	}
	for _, name := range r.NotRun {
		for _, row := range []*Row{of(SIG(name)), &total} {
			row.List, row.NotRun = row.List+1, row.NotRun+1
		}
	}
	var all []Row
	for _, sig := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, *rows[sig])
	}
	return append(all, total)
}

// headings returns the headings of the columns.
func (r *Report) headings() []string {
	if r.Beyond {
		return []string{"SIG", "selected", "passed", "skipped themselves", "failed, explained", "failed", "not run", "seconds"}
	}
	return []string{"SIG", "in the list", "ran", "passed", "failed", "not run", "seconds"}
}

// cells returns the cells of a row.
func (r *Report) cells(row Row) []string {
	counts := []int{row.List, row.Ran, row.Passed, row.Failed, row.NotRun}
	if r.Beyond {
		counts = []int{row.List, row.Passed, row.Skipped, row.Explained, row.Failed, row.NotRun}
	}
	cells := []string{row.SIG}
	for _, n := range counts {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, fmt.Sprintf("%.0f", row.Seconds))
}

// Print prints the table as text.
func (r *Report) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.Join(r.headings(), "\t")+"\t")
	for _, row := range r.Rows() {
		fmt.Fprintln(w, strings.Join(r.cells(row), "\t")+"\t")
	}
	return w.Flush()
}

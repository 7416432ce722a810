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
	Seconds                           float64
}

// Rows are the SIGs in alphabetical order, and the total.
func (r *Report) Rows() []Row {
	rows, total := map[string]*Row{}, Row{SIG: "total"}
	of := func(name string) *Row {
		sig := SIG(name)
		if rows[sig] == nil {
			rows[sig] = &Row{SIG: sig}
		}
		return rows[sig]
	}
	for _, s := range r.Specs {
		if s.State == Skipped {
			continue
		}
		for _, row := range []*Row{of(s.Name), &total} {
			row.List, row.Ran, row.Seconds = row.List+1, row.Ran+1, row.Seconds+s.Seconds
			if s.State == Passed {
				row.Passed++
			} else {
				row.Failed++
			}
		}
	}
	for _, name := range r.NotRun {
		for _, row := range []*Row{of(name), &total} {
			row.List, row.NotRun = row.List+1, row.NotRun+1
		}
	}
	var all []Row
	for _, sig := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, *rows[sig])
	}
	return append(all, total)
}

var headings = []string{"SIG", "in the list", "ran", "passed", "failed", "not run", "seconds"}

func (r Row) cells() []string {
	cells := []string{r.SIG}
	for _, n := range []int{r.List, r.Ran, r.Passed, r.Failed, r.NotRun} {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, fmt.Sprintf("%.0f", r.Seconds))
}

// Print prints the table as text.
func (r *Report) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.Join(headings, "\t")+"\t")
	for _, row := range r.Rows() {
		fmt.Fprintln(w, strings.Join(row.cells(), "\t")+"\t")
	}
	return w.Flush()
}

// markdown is the table for a document.
func (r *Report) markdown() string {
	var out strings.Builder
	line := func(cells []string) { fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | ")) }
	line(headings)
	fmt.Fprintf(&out, "|---%s|\n", strings.Repeat("|---", len(headings)-1))
	for _, row := range r.Rows() {
		line(row.cells())
	}
	return out.String()
}

package timeline

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// longest is the number of waits and pauses that are printed.
const longest = 10

// Print prints the table, the longest waits and the longest pauses. until is the end of the operation that waits, as for Waits.
func (t *Timeline) Print(w io.Writer, until time.Duration) error {
	if err := t.table(w); err != nil {
		return err
	}
	for _, part := range []struct {
		title string
		waits []Wait
	}{{"Longest waits", t.Waits(until)}, {"Longest pauses, in which no object changed", t.Pauses(until)}} {
		limit := ""
		if until > 0 {
			limit = fmt.Sprintf(", of those that begin before %.2f s", until.Seconds())
		}
		if _, err := fmt.Fprintf(w, "\n%s%s\n", part.title, limit); err != nil {
			return err
		}
		for _, wait := range part.waits[:min(longest, len(part.waits))] {
			if _, err := fmt.Fprintf(w, "%8.2f s  from %.2f s to %.2f s  %s\n", wait.Length().Seconds(), wait.Begin.Seconds(), wait.End.Seconds(), wait.What); err != nil {
				return err
			}
		}
	}
	return nil
}

// table prints a line for each object, by the time of its first step, in seconds.
func (t *Timeline) table(w io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := t.names()
	lines := slices.Clone(t.lines)
	slices.SortStableFunc(lines, func(a, b *line) int { return cmp.Compare(a.first(), b.first()) })
	var aligned bytes.Buffer
	table := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', tabwriter.AlignRight)
	for s := range steps {
		fmt.Fprintf(table, "%s\t", s)
	}
	fmt.Fprintln(table, "  object")
	for _, l := range lines {
		for _, at := range l.at {
			cell := ""
			if at >= 0 {
				cell = fmt.Sprintf("%.2f", at.Seconds())
			}
			fmt.Fprintf(table, "%s\t", cell)
		}
		fmt.Fprintln(table, "  "+names(l))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := aligned.WriteTo(w)
	return err
}

package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

func (f Figure) cells(name string) []string {
	return []string{name, f.measured(), f.goal(), f.met(), f.others()}
}

// sole returns the figure of a row with a single unnamed figure.
func (r Row) sole() (Figure, bool) {
	if len(r.Figures) == 1 && r.Figures[0].Name == "" {
		return r.Figures[0], true
	}
	return Figure{}, false
}

var heading = []string{"what", "measured", "goal", "met?", "others"}

// PrintText aligns the columns of the whole table. Lines without columns, such as notes, are printed between its lines and
// must not widen them.
func PrintText(w io.Writer, rows []Row) {
	var aligned bytes.Buffer
	t := tabwriter.NewWriter(&aligned, 0, 4, 2, ' ', 0)
	var between = map[int][]string{} // by the number of the line that follows them
	lines := 0
	line := func(cells []string) {
		fmt.Fprintln(t, strings.Join(cells, "\t"))
		lines++
	}
	free := func(text string) { between[lines] = append(between[lines], text) }
	line(heading)
	for _, r := range rows {
		if f, ok := r.sole(); ok {
			line(f.cells(r.What))
			r.Figures = nil
		} else {
			free(r.What)
		}
		for _, f := range r.Figures {
			line(f.cells("  " + f.Name))
			if f.Detail != "" {
				free("    " + f.Detail)
			}
			if f.Missed() && f.Tried != "" {
				free("    tried: " + f.Tried)
			}
		}
		if r.Note != "" {
			free("  (" + r.Note + ")")
		}
	}
	_ = t.Flush() // into memory
	for i, text := range append(strings.Split(strings.TrimRight(aligned.String(), "\n"), "\n"), "") {
		for _, b := range between[i] {
			fmt.Fprintln(w, b)
		}
		if text != "" {
			fmt.Fprintln(w, strings.TrimRight(text, " "))
		}
	}
}

// PrintMarkdown prints the table for a document.
func PrintMarkdown(w io.Writer, rows []Row) {
	line := func(cells []string) {
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	line(append([]string{}, heading...))
	line([]string{"---", "---", "---", "---", "---"})
	for _, r := range rows {
		if f, ok := r.sole(); ok {
			line(f.cells(r.What))
			continue
		}
		line([]string{"**" + r.What + "**", "", "", "", ""})
		for _, f := range r.Figures {
			line(f.cells("· " + f.Name))
		}
	}
}

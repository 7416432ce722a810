package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Row is a row of the table of budgets.
type Row struct {
	What    string
	Figures []Figure
	// Note describes the measurement, where necessary.
	Note string
}

// Figure is one quantity of a row.
type Figure struct {
	Name    string
	Samples []float64
	Unit    string
	// Budget is the maximum; nil for a figure that only explains others.
	Budget *float64
	// Detail describes the parts of the figure.
	Detail string
}

func within(name string, budget float64, unit string, samples ...float64) Figure {
	return Figure{Name: name, Samples: samples, Unit: unit, Budget: &budget}
}

func info(name, unit string, samples ...float64) Figure {
	return Figure{Name: name, Samples: samples, Unit: unit}
}

func (f Figure) withDetail(format string, args ...any) Figure {
	f.Detail = fmt.Sprintf(format, args...)
	return f
}

func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[len(sorted)/2]
}

func (f Figure) measured() string {
	if len(f.Samples) == 0 {
		return "not measured"
	}
	text := f.amount(median(f.Samples))
	if low := slices.Min(f.Samples); len(f.Samples) > 1 && number(low) != number(median(f.Samples)) {
		text += " (min " + number(low) + ")"
	}
	return text
}

func (f Figure) budget() string {
	switch {
	case f.Budget == nil:
		return ""
	case *f.Budget == 0:
		return "none"
	}
	return "≤ " + f.amount(*f.Budget)
}

func (f Figure) met() string {
	switch {
	case f.Budget == nil || len(f.Samples) == 0:
		return ""
	case median(f.Samples) <= *f.Budget:
		return "yes"
	}
	return "NO"
}

func (f Figure) amount(v float64) string { return strings.TrimSpace(number(v) + " " + f.Unit) }

// number formats three significant digits.
func number(v float64) string {
	switch {
	case v == float64(int64(v)) || v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func (f Figure) cells(name string) []string { return []string{name, f.measured(), f.budget(), f.met()} }

// sole returns the figure of a row with a single unnamed figure.
func (r Row) sole() (Figure, bool) {
	if len(r.Figures) == 1 && r.Figures[0].Name == "" {
		return r.Figures[0], true
	}
	return Figure{}, false
}

var heading = []string{"what", "measured", "budget", "met?"}

// printText aligns the columns of the whole table. Lines without columns, such as notes, are printed between its lines and
// must not widen them.
func printText(w io.Writer, rows []Row) {
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

func printMarkdown(w io.Writer, rows []Row) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(heading)
	line([]string{"---", "---", "---", "---"})
	for _, r := range rows {
		what := r.What
		if r.Note != "" {
			what += " *(" + r.Note + ")*"
		}
		if f, ok := r.sole(); ok {
			line(f.cells(what))
			continue
		}
		line([]string{what, "", "", ""})
		for _, f := range r.Figures {
			cells := f.cells("· " + f.Name)
			if f.Detail != "" {
				cells[1] += "; " + f.Detail
			}
			line(cells)
		}
	}
}

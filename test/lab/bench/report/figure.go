package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Row is a group of figures of one operation or state.
type Row struct {
	What    string
	Figures []Figure
	// Note describes the measurement, where necessary.
	Note string
}

// Figure is one quantity of a row. A figure without samples was not measured.
type Figure struct {
	Name    string
	Samples []float64
	Unit    string
	// Goal is the maximum; nil for a figure that only explains others.
	Goal *float64
	// Count is true for a number that hardly depends on the speed of the machine: calls, writes, leftovers.
	Count bool
	// Rate is true if higher is better.
	Rate bool
	// Detail describes the parts of the figure.
	Detail string
	// Others are the same quantity of other projects.
	Others []Other
	// Before is an earlier measurement, with its date and commit, that is not in the results. It is shown while there is no other.
	Before string
	// Tried describes, for a figure that misses its goal, the attempts and the remaining causes.
	Tried string
}

// Other is the figure of another project.
type Other struct {
	Project, Value string
	// Source names who measured it, and how.
	Source string
}

// Within is a figure with a goal.
func Within(name string, goal float64, unit string, samples ...float64) Figure {
	return Figure{Name: name, Samples: samples, Unit: unit, Goal: &goal}
}

// Info is a figure without a goal.
func Info(name, unit string, samples ...float64) Figure {
	return Figure{Name: name, Samples: samples, Unit: unit}
}

// Counted marks a count.
func (f Figure) Counted() Figure {
	f.Count = true
	return f
}

// HigherIsBetter marks a rate.
func (f Figure) HigherIsBetter() Figure {
	f.Rate = true
	return f
}

// WithDetail describes the parts of a figure that was measured.
func (f Figure) WithDetail(format string, args ...any) Figure {
	if f.Measured() {
		f.Detail = fmt.Sprintf(format, args...)
	}
	return f
}

// With adds the figure of another project.
func (f Figure) With(others ...Other) Figure {
	f.Others = append(slices.Clip(f.Others), others...)
	return f
}

// WhatWasTried describes the efforts for a figure that misses its goal.
func (f Figure) WhatWasTried(text string) Figure {
	f.Tried = text
	return f
}

// Earlier adds the value that was measured on 2026-11-22 at commit 0ff46a5, before there were files of results.
func (f Figure) Earlier(value string) Figure {
	f.Before = value + " on 2026-11-22 at 0ff46a5"
	return f
}

// Measured reports whether the figure has samples.
func (f Figure) Measured() bool { return len(f.Samples) > 0 }

// Value is the median of the samples.
func (f Figure) Value() float64 { return median(f.Samples) }

// Met reports whether the figure was measured and is within its goal, if it has one.
func (f Figure) Met() bool { return f.Measured() && (f.Goal == nil || f.Value() <= *f.Goal) }

// Missed reports whether the figure was measured and exceeds its goal.
func (f Figure) Missed() bool { return f.Measured() && !f.Met() }

func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[len(sorted)/2]
}

func (f Figure) measured() string {
	switch {
	case f.Measured():
	case f.Before != "":
		return "not measured; earlier: " + f.Before
	default:
		return "not measured"
	}
	text := f.amount(f.Value())
	if low := f.lowest(); low != "" {
		text += " (" + low + ")"
	}
	return text
}

// lowest is the lowest sample, if it differs from the median.
func (f Figure) lowest() string {
	if len(f.Samples) < 2 || Number(slices.Min(f.Samples)) == Number(f.Value()) {
		return ""
	}
	return "min " + Number(slices.Min(f.Samples))
}

func (f Figure) goal() string {
	switch {
	case f.Goal == nil:
		return ""
	case *f.Goal == 0:
		return "none"
	}
	return "≤ " + f.amount(*f.Goal)
}

// met is yes, or by how much the goal is missed.
func (f Figure) met() string {
	switch {
	case f.Goal == nil || !f.Measured():
		return ""
	case f.Met():
		return "yes"
	case *f.Goal == 0:
		return "NO"
	}
	return fmt.Sprintf("NO, %.2f times", f.Value() / *f.Goal)
}

func (f Figure) others() string {
	var all []string
	for _, o := range f.Others {
		all = append(all, o.Project+" "+o.Value)
	}
	return strings.Join(all, "; ")
}

func (f Figure) amount(v float64) string { return strings.TrimSpace(Number(v) + " " + f.Unit) }

// Number formats three significant digits.
func Number(v float64) string {
	switch {
	case v == float64(int64(v)) || v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

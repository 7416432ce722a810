package report

import (
	"fmt"
	"io"
	"slices"
)

// Tolerances of a comparison, as a part of the earlier value.
const (
	// countNoise is for counts: a mean over many objects depends a little on the speed of the machine.
	countNoise = 0.05
	// noise is for times, CPU and memory of one machine.
	noise = 0.15
)

// Change is a figure that is worse than an earlier measurement of it.
type Change struct {
	Row           string
	Before, After Figure
	// Measured is the earlier measurement.
	Measured *Measurement
}

// Compare returns the figures of a measurement that are worse than in the results by more than noise, which is at least that of their
// samples. Higher is worse, except for rates. It compares counts always, and other figures only if both were measured on the same kind of machine; comparable
// reports whether they were. A figure that was not measured before is not compared.
func (r *Results) Compare(m Measurement) (worse []Change, comparable bool) {
	before := r.of(m.Section)
	if before == nil {
		return nil, false
	}
	comparable = before.Machine == m.Machine
	for _, row := range m.Rows {
		for _, f := range row.Figures {
			earlier := before.figure(row.What, f)
			if earlier != nil && (f.Count || comparable) && f.worseThan(*earlier) {
				worse = append(worse, Change{Row: row.What, Before: *earlier, After: f, Measured: before})
			}
		}
	}
	return worse, comparable
}

// figure returns the figure of the same row, name and unit, nil if it has no samples.
func (m *Measurement) figure(what string, f Figure) *Figure {
	for _, row := range m.Rows {
		if row.What != what {
			continue
		}
		i := slices.IndexFunc(row.Figures, func(other Figure) bool {
			return other.Name == f.Name && other.Unit == f.Unit && other.Measured()
		})
		if i >= 0 {
			return &row.Figures[i]
		}
	}
	return nil
}

// worseThan is false for a figure without samples, and for a growth that may be negative, which its goal judges.
func (f Figure) worseThan(before Figure) bool {
	spread := max(before.spread(), f.spread())
	switch {
	case !f.Measured():
		return false
	case f.Count:
		return f.Value() > before.Value()*(1+max(countNoise, spread))
	case before.Value() <= 0:
		return false
	case f.Rate:
		return f.Value() < before.Value()*(1-max(noise, spread))
	}
	return f.Value() > before.Value()*(1+max(noise, spread))
}

// NewCounts returns the counts of a measurement that are not in the results, so that nothing guards them.
func (r *Results) NewCounts(m Measurement) (names []string) {
	before := r.of(m.Section)
	for _, row := range m.Rows {
		for _, f := range row.Figures {
			if f.Count && f.Measured() && (before == nil || before.figure(row.What, f) == nil) {
				names = append(names, row.What+": "+f.Name)
			}
		}
	}
	return names
}

// spread is the distance between the samples, as a part of the median.
func (f Figure) spread() float64 {
	if !f.Measured() || f.Value() == 0 {
		return 0
	}
	return (slices.Max(f.Samples) - slices.Min(f.Samples)) / f.Value()
}

// PrintChanges prints one line for each figure that is worse.
func PrintChanges(w io.Writer, worse []Change) {
	for _, c := range worse {
		what := c.Row
		if c.After.Name != "" {
			what += ": " + c.After.Name
		}
		fmt.Fprintf(w, "%s: %s, was %s on %s at %s\n", what, c.After.amount(c.After.Value()), c.Before.amount(c.Before.Value()),
			c.Measured.Date.UTC().Format("2006-01-02"), short(c.Measured.Commit))
		if c.After.Count && c.After.Detail != "" && c.Before.Detail != "" {
			fmt.Fprintf(w, "    now: %s\n    was: %s\n", c.After.Detail, c.Before.Detail)
		}
	}
}

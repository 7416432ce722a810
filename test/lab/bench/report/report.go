package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/compactjson"
)

// Section is a group of rows that are measured together.
type Section struct {
	Name string
	// Where describes the real parts of the measurement.
	Where string
	Rows  []Row
}

// Results are measurements, at most one for each section.
type Results struct {
	Sections []Measurement `json:"sections"`
}

// Measurement contains the measured values of a section.
type Measurement struct {
	Section string `json:"section"`
	// Commit is the last commit that changed a measured program.
	Commit string `json:"commit"`
	// Date is when the measurement began.
	Date time.Time `json:"date"`
	// Machine describes the machine, and LoadBefore its load average, in processes, when the measurement began.
	Machine    string `json:"machine"`
	LoadBefore string `json:"loadBefore"`
	Rows       []Row  `json:"rows"`
}

// Add adds a measurement, and removes an earlier one of the same section.
func (r *Results) Add(m Measurement) {
	i := slices.IndexFunc(r.Sections, func(before Measurement) bool { return before.Section == m.Section })
	if i < 0 {
		r.Sections = append(r.Sections, m)
		return
	}
	r.Sections[i] = m
}

// of returns the measurement of a section; nil without a measurement.
func (r *Results) of(section string) *Measurement {
	for i := range r.Sections {
		if r.Sections[i].Section == section {
			return &r.Sections[i]
		}
	}
	return nil
}

// figure is the form of a figure in a file. The figures of other projects are only on the page.
type figure struct {
	Name    string    `json:"name,omitempty"`
	Unit    string    `json:"unit,omitempty"`
	Value   *float64  `json:"value"` // the median of the samples; null: not measured
	Samples []float64 `json:"samples,omitempty"`
	Goal    *float64  `json:"goal,omitempty"` // the maximum
	Met     *bool     `json:"met,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Tried   string    `json:"tried,omitempty"`
}

// row is the form of a row in a file.
type row struct {
	What    string   `json:"what"`
	Note    string   `json:"note,omitempty"`
	Figures []figure `json:"figures"`
}

// MarshalJSON adds values that readers of a file would otherwise have to compute.
func (r Row) MarshalJSON() ([]byte, error) {
	out := row{What: r.What, Note: r.Note}
	for _, f := range r.Figures {
		one := figure{Name: f.Name, Unit: f.Unit, Samples: f.Samples, Goal: f.Goal, Detail: f.Detail}
		if f.Measured() {
			value := f.Value()
			one.Value = &value
			if f.Goal != nil {
				met := f.Met()
				one.Met = &met
			}
		}
		if f.Missed() {
			one.Tried = f.Tried
		}
		out.Figures = append(out.Figures, one)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the form of MarshalJSON.
func (r *Row) UnmarshalJSON(text []byte) error {
	var in row
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*r = Row{What: in.What, Note: in.Note}
	for _, f := range in.Figures {
		r.Figures = append(r.Figures, Figure{
			Name: f.Name, Unit: f.Unit, Samples: f.Samples, Goal: f.Goal, Detail: f.Detail, Tried: f.Tried,
		})
	}
	return nil
}

// Write writes the results as JSON.
func (r *Results) Write(file string) error {
	if err := compactjson.WriteFile(file, r); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// Read reads results that Write has written. A file that does not exist has none.
func Read(file string) (*Results, error) {
	r := &Results{}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading the results %s: %w", file, err)
	}
	return r, nil
}

// Merge returns the sections of the code with the samples of the results. Goals, others and attempts come from the
// code. It fails if a row or figure of the results is unknown, because it was renamed, or has another unit.
func Merge(sections []Section, results *Results) ([]Section, error) {
	for _, m := range results.Sections {
		if !slices.ContainsFunc(sections, func(s Section) bool { return s.Name == m.Section }) {
			return nil, fmt.Errorf("the results have the section %q, which the bench does not have", m.Section)
		}
	}
	var merged []Section
	for _, s := range sections {
		m := results.of(s.Name)
		if m != nil {
			var err error
			if s.Rows, err = mergeRows(s.Rows, m.Rows); err != nil {
				return nil, fmt.Errorf("section %q: %w", s.Name, err)
			}
		}
		merged = append(merged, s)
	}
	return merged, nil
}

func mergeRows(known, measured []Row) ([]Row, error) {
	known = slices.Clone(known)
	for _, m := range measured {
		i := slices.IndexFunc(known, func(r Row) bool { return r.What == m.What })
		if i < 0 {
			return nil, fmt.Errorf("the results have the row %q, which the bench does not have: measure again", m.What)
		}
		row := known[i]
		row.Note, row.Figures = m.Note, slices.Clone(row.Figures)
		for _, f := range m.Figures {
			k := slices.IndexFunc(row.Figures, func(known Figure) bool { return known.Name == f.Name && known.Unit == f.Unit })
			if k < 0 {
				return nil, fmt.Errorf("the results of %q have the figure %q in %q, which the bench does not have: measure again", m.What, f.Name, f.Unit)
			}
			row.Figures[k].Samples, row.Figures[k].Detail = f.Samples, f.Detail
		}
		known[i] = row
	}
	return known, nil
}

package report

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Count is a number of specs of a SIG that had the same result.
type Count struct {
	SIG   string `json:"sig"`
	State State  `json:"state"`
	// Message is why they skipped themselves.
	Message string  `json:"message,omitempty"`
	Specs   int     `json:"specs"`
	Seconds float64 `json:"seconds"`
}

// SummarizeAll summarizes the reports of a directory.
func SummarizeAll(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		r, err := Read(file)
		if err != nil {
			return err
		}
		r.Summarize()
		if err := r.Write(file); err != nil {
			return err
		}
	}
	return nil
}

// Summarize replaces specs by counts if no reader of a committed report needs their names: those that passed at once, and beyond the conformance
// tests those that skipped themselves.
func (r *Report) Summarize() {
	r.Specs = slices.DeleteFunc(r.Specs, func(s Spec) bool {
		counted := s.State == Passed && s.Attempts <= 1 || s.State == Skipped && r.Beyond
		if counted {
			r.count(s)
		}
		return counted
	})
	slices.SortFunc(r.Counts, func(a, b Count) int {
		return cmp.Or(strings.Compare(a.SIG, b.SIG), strings.Compare(string(a.State), string(b.State)), strings.Compare(a.Message, b.Message))
	})
	for i, c := range r.Counts {
		r.Counts[i].Seconds = math.Round(c.Seconds*1000) / 1000
	}
}

// count adds a spec to the counts.
func (r *Report) count(s Spec) {
	c := Count{SIG: SIG(s.Name), State: s.State, Message: firstLine(s.Message)}
	i := slices.IndexFunc(r.Counts, func(o Count) bool { return o.SIG == c.SIG && o.State == c.State && o.Message == c.Message })
	if i < 0 {
		i, r.Counts = len(r.Counts), append(r.Counts, c)
	}
	r.Counts[i].Specs++
	r.Counts[i].Seconds += s.Seconds
}

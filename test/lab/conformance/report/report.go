package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/compactjson"
)

// Report is the result of a run.
type Report struct {
	// Version is the version of Kubernetes, without a v.
	Version string `json:"version"`
	// Commit is the commit of this repository, Date when the run began.
	Commit string    `json:"commit"`
	Date   time.Time `json:"date"`
	// Selection describes the selected part of the list; empty: all.
	Selection string `json:"selection,omitempty"`
	// Beyond is true if the specs are those beyond the conformance tests: see Beyond. They may skip themselves.
	Beyond bool `json:"beyond,omitempty"`
	// Workers and Zones are the numbers of workers and zones of the hosted cluster.
	Workers int `json:"workers"`
	Zones   int `json:"zones"`
	// Availability and Access are the availability policy of the control plane and its endpoint access.
	Availability string `json:"availability,omitempty"`
	Access       string `json:"access,omitempty"`
	// SharedRouter is true if the cluster had no router of its own.
	SharedRouter bool `json:"sharedRouter,omitempty"`
	// During names the disturbance of the control plane, and Events are the completed events; empty: none.
	During string   `json:"during,omitempty"`
	Events []string `json:"events,omitempty"`
	// Objects is the number of API objects that were made in the hosted cluster before the specs ran.
	Objects int `json:"objects,omitempty"`
	// Rounds is how often the specs ran, until an event was completed; 0: once.
	Rounds int `json:"rounds,omitempty"`
	// Minutes is the time from the first spec to the last.
	Minutes float64 `json:"minutes"`
	// Specs are the specs that ran, in the order of names, except for those in Counts.
	Specs []Spec `json:"specs,omitempty"`
	// Counts are specs without their names: see Summarize.
	Counts []Count `json:"counts,omitempty"`
	// NotRun are the wanted specs that did not.
	NotRun []string `json:"notRun,omitempty"`
	// Problems are failures outside of specs.
	Problems []string `json:"problems,omitempty"`
	// LeftOut are groups of specs that were not wanted: see beyond.go.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// Stale are parts of names of specs that have an explanation for a failure, and did not fail.
	Stale []string `json:"stale,omitempty"`
}

// Add adds the specs of a report of ginkgo. A spec that has run before gets the later result, unless it
// has failed.
func (r *Report) Add(specs []Spec, problems []string) {
	for _, s := range specs {
		same := func(before Spec) bool { return before.Name == s.Name }
		if i := slices.IndexFunc(r.Specs, same); i >= 0 {
			if r.Specs[i].State == Failed {
				continue
			}
			s.Attempts = max(s.Attempts, r.Specs[i].Attempts)
		}
		r.Specs = append(slices.DeleteFunc(r.Specs, same), s)
	}
	r.Problems = append(r.Problems, problems...)
}

// Compare sets NotRun to the wanted specs that did not run. A conformance test that skipped itself did not run.
func (r *Report) Compare(wanted []string) {
	slices.SortFunc(r.Specs, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	ran := map[string]bool{}
	for _, s := range r.Specs {
		ran[s.Name] = r.Beyond || s.State != Skipped
	}
	r.NotRun = slices.DeleteFunc(slices.Sorted(slices.Values(wanted)), func(name string) bool { return ran[name] })
}

// Err is nil if all wanted specs passed, or failed for a reason that is known. Otherwise it names those that did not.
func (r *Report) Err() error {
	var lines []string
	for _, problem := range r.Problems {
		lines = append(lines, "the suite: "+firstLine(problem))
	}
	messages := map[string]string{}
	for _, s := range r.Specs {
		if s.unexplained() {
			lines = append(lines, "failed: "+s.Name+": "+firstLine(s.Message))
		}
		messages[s.Name] = s.Message
	}
	for _, name := range r.NotRun {
		line := "not run: " + name
		if message := messages[name]; message != "" {
			line += ": " + firstLine(message)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("not all specs passed:\n  %s", strings.Join(lines, "\n  "))
}

// firstLine is the first line of a message, which may be long.
func firstLine(message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	if runes := []rune(message); len(runes) > 300 {
		message = string(runes[:300]) + "..."
	}
	return message
}

// Write writes the report as JSON.
func (r *Report) Write(file string) error {
	if err := compactjson.WriteFile(file, r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Read reads a report that Write has written.
func Read(file string) (*Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading the report %s: %w", file, err)
	}
	return r, nil
}

package report

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"
)

func TestSummariesMakeTheSamePage(t *testing.T) {
	versions := []string{"1.36.3"}
	page := func(dir string) string {
		t.Helper()
		reports, err := ReadAll(dir, versions)
		if err != nil {
			t.Fatal(err)
		}
		others, err := ReadOthers(dir, versions, known)
		if err != nil {
			t.Fatal(err)
		}
		return Page(versions, reports, others)
	}
	dir := t.TempDir()
	during := compared(t)
	during.During = "deaths"
	for file, r := range map[string]*Report{"1.36.3.json": compared(t), "1.36.3-deaths.json": during, "1.36.3-beyond.json": beyond()} {
		if err := r.Write(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	want := page(dir)
	for range 2 { // a summary of a summary is the same
		if err := SummarizeAll(dir); err != nil {
			t.Fatal(err)
		}
		if got := page(dir); got != want {
			t.Errorf("the page of summaries is\n%s\nwant\n%s", got, want)
		}
	}
}

func TestSummaryKeepsTheNamesOfSpecsThatDidNotPassAtOnce(t *testing.T) {
	specs := []Spec{
		{Name: "[sig-apps] one", State: Passed, Seconds: 0.1},
		{Name: "[sig-apps] two", State: Passed, Seconds: 0.2},
		{Name: "[sig-apps] three", State: Passed, Seconds: 4, Attempts: 2},
		{Name: "[sig-apps] four", State: Failed, Message: "it did"},
		{Name: "[sig-apps] five", State: Skipped, Message: "no disk\nat all"},
		{Name: "[sig-node] six", State: Skipped, Message: "no disk\nin use"},
	}
	passed := Count{SIG: "apps", State: Passed, Specs: 2, Seconds: 0.3}
	for name, c := range map[string]struct {
		beyond bool
		specs  []Spec
		counts []Count
	}{
		"conformance tests, in which a skipped one is missing": {false, specs[2:], []Count{passed}},
		"other specs, which may skip themselves": {true, specs[2:4], []Count{
			passed, {SIG: "apps", State: Skipped, Message: "no disk", Specs: 1}, {SIG: "node", State: Skipped, Message: "no disk", Specs: 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{Beyond: c.beyond}
			r.Add(specs, nil)
			r.Summarize()
			if !reflect.DeepEqual(r.Specs, c.specs) || !reflect.DeepEqual(r.Counts, c.counts) {
				text, err := json.Marshal(r)
				t.Errorf("got %s, %v", text, err)
			}
		})
	}
}

package report

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var someone = Other{Project: "Someone", Value: "12 s", Source: "their page"}

// sections are two sections with goals, one of which is measured by measured.
func sections() []Section {
	return []Section{
		{Name: "starts", Where: "All is real.", Rows: []Row{
			{What: "a start", Figures: []Figure{
				Within("time", 5, "s").With(someone).WhatWasTried("less waiting."),
				Within("writes", 0, "").WhatWasTried("fewer objects."),
				Info("CPU", "s"),
			}},
			{What: "a restart", Figures: []Figure{Within("time", 2, "s").Earlier("3 s")}},
		}},
		{Name: "ends", Where: "All is real.", Rows: []Row{{What: "an end", Figures: []Figure{Within("", 8, "s")}, Note: "load 3"}}},
	}
}

func measured(seconds ...float64) *Results {
	r := &Results{}
	r.Add(Measurement{
		Section: "starts", Commit: "0123456789abcdef", Date: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC), Machine: "2 cores", LoadBefore: "0.1",
		Rows: []Row{{What: "a start", Note: "three times", Figures: []Figure{
			Within("time", 4, "s", seconds...).WithDetail("1 s of it by others"), Within("writes", 0, "", 0), Info("CPU", "s", 1.5),
		}}},
	})
	return r
}

func TestPageHasMeasurementsMissesAndGaps(t *testing.T) {
	page, err := Page(sections(), measured(7, 6, 9))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nGoals: 4. Met: 1. Missed: 1. Without a measurement: 2.\n",
		"\n### Missed\n\n| measured | figures (goal; other projects) |\n|---|---|\n| a start | time: 7 s (min 6; ≤ 5 s; Someone 12 s) |\n",
		"\n### Without a measurement\n\n| measured | figures (goal; other projects) |\n|---|---|\n" +
			"| a restart | time: not measured; earlier: 3 s on 2026-11-22 at 0ff46a5 (≤ 2 s) |\n| an end | not measured (≤ 8 s) |\n",
		"\n### Met\n\n| measured | figures (goal; other projects) |\n|---|---|\n| a start | writes: 0 (none) |\n",
		"\n## Sections\n\n| section | measured | environment |\n|---|---|---|\n| Starts | 2026-11-23 at 01234567 | All is real. |\n| Ends | no | as above |\n",
		"\n## Figures without a goal\n\n| measured | figures |\n|---|---|\n| a start | CPU: 1.5 s |\n",
		"\n| Someone | their page |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	// Notes, parts of figures and efforts are in the file of results.
	for _, wrong := range []string{"fewer objects", "less waiting", "load 3", "three times", "1 s of it by others"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	met, err := Page(sections(), measured(5))
	if err != nil || strings.Contains(met, "### Missed") || !strings.Contains(met, "Goals: 4. Met: 2. Missed: 0. Without a measurement: 2.") {
		t.Errorf("with a goal that is just met (%v):\n%s", err, met)
	}
	if want := "\n| a start | time: 5 s (≤ 5 s; Someone 12 s); writes: 0 (none) |\n"; !strings.Contains(met, want) {
		t.Errorf("the page lacks %q:\n%s", want, met)
	}
}

func TestResultsOfRowsThatDoNotExistAreRejected(t *testing.T) {
	for name, change := range map[string]func(*Measurement){
		"another section": func(m *Measurement) { m.Section = "pauses" },
		"another row":     func(m *Measurement) { m.Rows[0].What = "a break" },
		"another figure":  func(m *Measurement) { m.Rows[0].Figures[0].Name = "duration" },
		"another unit":    func(m *Measurement) { m.Rows[0].Figures[0].Unit = "ms" },
	} {
		results := measured(5)
		change(&results.Sections[0])
		if _, err := Page(sections(), results); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestResultsAreReadAsTheyWereWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	empty, err := Read(file)
	if err != nil || len(empty.Sections) != 0 {
		t.Fatalf("a file that does not exist has %+v, %v", empty, err)
	}
	want := measured(7, 6, 9)
	want.Sections[0].Rows[0].Figures[0] = want.Sections[0].Rows[0].Figures[0].With(someone).WhatWasTried("less waiting.")
	if err := want.Write(file); err != nil {
		t.Fatal(err)
	}
	want.Sections[0].Rows[0].Figures[0].Others = nil // only the code has them
	got, err := Read(file)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"value":7,`, `"goal":4,`, `"met":false,`, `"unit":"s",`, `"commit":"0123456789abcdef",`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file lacks %s:\n%s", want, text)
		}
	}
	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil {
		t.Error("half a file is accepted")
	}
}

func TestLaterMeasurementOfASectionReplacesTheFirst(t *testing.T) {
	r := measured(9)
	r.Add(Measurement{Section: "ends"})
	r.Add(measured(5).Sections[0])
	if len(r.Sections) != 2 || r.Sections[0].Rows[0].Figures[0].Value() != 5 {
		t.Errorf("got %+v", r.Sections)
	}
}

func TestTableHasOthersAndMisses(t *testing.T) {
	merged, err := Merge(sections(), measured(7))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	PrintText(&out, merged[0].Rows)
	const want = `
what      measured                               goal   met?            others
a start
  time    7 s                                    ≤ 5 s  NO, 1.40 times  Someone 12 s
    1 s of it by others
    tried: less waiting.
  writes  0                                      none   yes
  CPU     1.5 s
  (three times)
a restart
  time    not measured; earlier: 3 s on 2026-11-22 at 0ff46a5  ≤ 2 s
`
	squeeze := func(text string) string {
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.TrimSpace(strings.Join(lines, "\n"))
	}
	if squeeze(out.String()) != squeeze(want) {
		t.Errorf("got\n%swant%s", out.String(), want)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 1.05: "1.05", 0.07654: "0.0765", 9.876: "9.88", 12.34: "12.3", 1234.5: "1234", 3: "3"} {
		if got := Number(value); got != want {
			t.Errorf("%v is %s, want %s", value, got, want)
		}
	}
}

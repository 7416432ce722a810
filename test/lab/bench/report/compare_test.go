package report

import (
	"strings"
	"testing"
	"time"
)

func TestWhatIsWorse(t *testing.T) {
	count := func(samples ...float64) Figure { return Info("writes each", "", samples...).Counted() }
	seconds := func(samples ...float64) Figure { return Info("time", "s", samples...) }
	for name, tc := range map[string]struct {
		before, after Figure
		machine       string
		worse         bool
	}{
		"the same count":                              {count(31), count(31), "a", false},
		"a count that is a little higher":             {count(31), count(31.6), "a", false},
		"one call more":                               {count(8), count(9), "a", true},
		"one call more, on another machine":           {count(8), count(9), "b", true},
		"a write where there was none":                {count(0), count(1), "a", true},
		"fewer calls":                                 {count(8), count(7), "a", false},
		"a time within its noise":                     {seconds(10), seconds(11), "a", false},
		"a longer time":                               {seconds(10), seconds(12), "a", true},
		"a longer time on another machine":            {seconds(10), seconds(12), "b", false},
		"a longer time between samples that differ":   {seconds(10, 8, 12), seconds(12), "a", false},
		"a much longer time than samples that differ": {seconds(10, 8, 12), seconds(15), "a", true},
		"a growth after a decrease":                   {Info("growth", "%", -1), Info("growth", "%", 2), "a", false},
		"a higher rate":                               {Info("tunnel", "MiB/s", 20).HigherIsBetter(), Info("tunnel", "MiB/s", 30).HigherIsBetter(), "a", false},
		"a lower rate":                                {Info("tunnel", "MiB/s", 20).HigherIsBetter(), Info("tunnel", "MiB/s", 10).HigherIsBetter(), "a", true},
		"a count within the spread of its samples":    {count(9, 8, 8), count(9), "a", false},
		"not measured now":                            {seconds(10), seconds(), "a", false},
		"not measured before":                         {seconds(), seconds(10), "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Results{}
			r.Add(Measurement{Section: "s", Machine: "a", Rows: []Row{{What: "row", Figures: []Figure{tc.before}}}})
			worse, comparable := r.Compare(Measurement{Section: "s", Machine: tc.machine, Rows: []Row{{What: "row", Figures: []Figure{tc.after}}}})
			if len(worse) > 0 != tc.worse || comparable != (tc.machine == "a") {
				t.Errorf("got %+v, comparable %t", worse, comparable)
			}
		})
	}
}

func TestASectionThatWasNotMeasured(t *testing.T) {
	if worse, comparable := (&Results{}).Compare(Measurement{Section: "s"}); worse != nil || comparable {
		t.Errorf("got %+v, comparable %t", worse, comparable)
	}
}

func TestCountsThatNothingGuards(t *testing.T) {
	known, renamed := Info("writes", "", 1).Counted(), Info("writes each", "", 1).Counted()
	r := &Results{}
	r.Add(Measurement{Section: "s", Rows: []Row{{What: "row", Figures: []Figure{known}}}})
	got := r.NewCounts(Measurement{Section: "s", Rows: []Row{{What: "row", Figures: []Figure{known, renamed, Info("time", "s", 1)}}}})
	if len(got) != 1 || got[0] != "row: writes each" {
		t.Errorf("got %q", got)
	}
}

func TestChangesNameBothValues(t *testing.T) {
	var out strings.Builder
	PrintChanges(&out, []Change{{
		Row: "200 HostedClusters", Before: Info("writes each", "", 31).Counted().WithDetail("3 secrets"), After: Info("writes each", "", 33).Counted().WithDetail("5 secrets"),
		Measured: &Measurement{Date: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), Commit: "08c252f012345"},
	}})
	want := "200 HostedClusters: writes each: 33, was 31 on 2026-11-26 at 08c252f0\n    now: 5 secrets\n    was: 3 secrets\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

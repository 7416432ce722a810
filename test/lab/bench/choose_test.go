package main

import (
	"slices"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

func TestOnlyChoosesWhatWasMeant(t *testing.T) {
	for only, want := range map[string][]string{
		"at rest":     {"at rest"},
		"one at rest": {"hosted control planes, one at rest"},
		"one cluster": {"one cluster"},
		"restart":     {"restart with 1,000 HostedClusters", "restart with 2,000 HostedClusters", "restart with 10,000 NodePools"},
		"hosted control planes": {
			"hosted control planes, one after the other", "hosted control planes, one at rest", "hosted control planes, many at once",
		},
		"HostedClusters": nil,
		"1,000":          {"1,000 services"},
		"nonsense":       nil,
	} {
		got, err := choose(sections, only)
		var names []string
		for _, s := range got {
			names = append(names, s.name)
		}
		if !slices.Equal(names, want) || (err == nil) != (want != nil) {
			t.Errorf("-only %q: %q, %v; want %q", only, names, err, want)
		}
	}
	if all, err := choose(sections, ""); err != nil || len(all) != len(sections) {
		t.Errorf("without -only: %d sections of %d, %v", len(all), len(sections), err)
	}
}

func TestTimelineAloneStartsOneControlPlane(t *testing.T) {
	if got, err := selected("", "", true, false); err != nil || len(got) != 1 || got[0].name != withTimeline.name {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := selected("node pools", "results.json", true, false); err != nil || len(got) != 1 || got[0].name != "node pools" {
		t.Errorf("with -only, got %+v, %v", got, err)
	}
	if _, err := selected("", "results.json", true, false); err == nil {
		t.Error("results without goals would be written")
	}
	if got, err := selected("soak", "", false, false); err != nil || len(got) != 1 || got[0].name != "soak" {
		t.Errorf("with the name of a section that takes hours, got %+v, %v", got, err)
	}
	if got, err := selected("", "results.json", false, false); err != nil || len(got) != len(sections) {
		t.Errorf("without -timeline, got %d sections, %v", len(got), err)
	}
}

func TestCountsNeedNoLab(t *testing.T) {
	chosen, err := selected("", "", false, true)
	if err != nil || len(chosen) != len(countSections) {
		t.Fatalf("got %d sections, %v", len(chosen), err)
	}
	for _, s := range chosen {
		if s.on == aLab || !slices.ContainsFunc(s.rows, func(r report.Row) bool {
			return slices.ContainsFunc(r.Figures, func(f report.Figure) bool { return f.Count })
		}) {
			t.Errorf("section %q needs a lab, or has no count", s.name)
		}
	}
	if _, err := selected("one cluster", "", false, true); err == nil {
		t.Error("-only would be ignored")
	}
}

func TestOnlyHigherCountsFail(t *testing.T) {
	slower := report.Change{After: report.Info("time", "s", 2)}
	if err := (comparison{worse: []report.Change{slower}}).higherCounts(); err != nil {
		t.Errorf("a time failed: %v", err)
	}
	if err := (comparison{worse: []report.Change{slower, {After: report.Info("writes", "", 2).Counted()}}}).higherCounts(); err == nil {
		t.Error("a count did not fail")
	}
	if err := (comparison{unknown: []string{"row: writes"}}).higherCounts(); err == nil {
		t.Error("a count that nothing guards did not fail")
	}
}

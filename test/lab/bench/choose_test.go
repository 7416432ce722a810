package main

import (
	"slices"
	"testing"
)

func TestOnlyChoosesWhatWasMeant(t *testing.T) {
	for only, want := range map[string][]string{
		"at rest":     {"at rest"},
		"one at rest": {"hosted control planes, one at rest"},
		"one cluster": {"one cluster"},
		"restart":     {"restart with 1,000 HostedClusters"},
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
	if got, err := selected("", "", true); err != nil || len(got) != 1 || got[0].name != withTimeline.name {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := selected("node pools", "results.json", true); err != nil || len(got) != 1 || got[0].name != "node pools" {
		t.Errorf("with -only, got %+v, %v", got, err)
	}
	if _, err := selected("", "results.json", true); err == nil {
		t.Error("results without goals would be written")
	}
	if got, err := selected("soak", "", false); err != nil || len(got) != 1 || got[0].name != "soak" {
		t.Errorf("with the name of a section that takes hours, got %+v, %v", got, err)
	}
	if got, err := selected("", "results.json", false); err != nil || len(got) != len(sections) {
		t.Errorf("without -timeline, got %d sections, %v", len(got), err)
	}
}

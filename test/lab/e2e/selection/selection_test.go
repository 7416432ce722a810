package selection

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var some = []Scenario{{"TestAlerts", 10, true}, {"TestOutages", 5, true}, {"TestKeys", 16, false}, {"TestAccess", 8, false}, {"TestNodes", 8, false}, {"TestNodePorts", 1, false}}

func TestDrawnScenariosEndInTime(t *testing.T) {
	for seed := range 100 {
		for _, minutes := range []int{0, 1, 8, 16, 20} {
			drawn := Draw(some, strconv.Itoa(seed), time.Duration(minutes)*time.Minute)
			var chosen []Scenario
			for _, s := range some {
				if drawn[s.Name] {
					chosen = append(chosen, s)
				}
			}
			if took := duration(chosen); took > time.Duration(minutes)*time.Minute || len(chosen) != len(drawn) {
				t.Errorf("seed %d: %v take %s of %d minutes", seed, drawn, took, minutes)
			}
		}
	}
}

func TestAllAreDrawnWithEnoughTime(t *testing.T) {
	// 15 minutes alone, and 16 of the longest that shares: the other shared ones run at the same time.
	if drawn := Draw(some, "a", 31*time.Minute); len(drawn) != len(some) {
		t.Errorf("drawn are only %v", drawn)
	}
}

func TestEveryScenarioIsDrawnForSomeSeed(t *testing.T) {
	ever := map[string]bool{}
	for seed := range 20 {
		maps.Copy(ever, Draw(some, strconv.Itoa(seed), 17*time.Minute))
	}
	if len(ever) != len(some) {
		t.Errorf("only %v are ever drawn", slices.Sorted(maps.Keys(ever)))
	}
}

func TestSeedDecidesTheDraw(t *testing.T) {
	draws := map[string]bool{}
	for seed := range 20 {
		first, again := names(Draw(some, strconv.Itoa(seed), 10*time.Minute)), names(Draw(some, strconv.Itoa(seed), 10*time.Minute))
		if first != again {
			t.Errorf("seed %d has the draws %s and %s", seed, first, again)
		}
		draws[first] = true
	}
	if len(draws) < 2 {
		t.Errorf("all seeds have the draw %v", draws)
	}
}

func names(drawn map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(drawn)), " ") }

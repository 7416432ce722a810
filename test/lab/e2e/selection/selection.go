// Package selection selects the end-to-end scenarios that fit into the time of a CI run.
package selection

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"
)

// Places is how many scenarios that share the lab run at the same time. They wait most of the time, but control planes and machines that start
// keep the two cores of a small machine busy. With five places, machines did not join within five minutes.
const Places = 3

// A Scenario takes Minutes on a machine with two cores, at the same time as others. Alone is true if no other scenario may run
// at the same time.
type Scenario struct {
	Name    string
	Minutes int
	Alone   bool
}

// Draw returns the names of the scenarios that run: as many as end within the time, in the order of a hash of their names and the seed. The same
// seed selects the same scenarios. With another seed for each commit, each scenario runs once in a few commits.
func Draw(all []Scenario, seed string, within time.Duration) map[string]bool {
	place := func(s Scenario) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(seed + "/" + s.Name)) // never fails
		return h.Sum64()
	}
	order := slices.SortedFunc(slices.Values(all), func(a, b Scenario) int { return cmp.Compare(place(a), place(b)) })
	drawn := map[string]bool{}
	var chosen []Scenario
	for _, s := range order {
		if with := append(chosen, s); duration(with) <= within {
			chosen, drawn[s.Name] = with, true
		}
	}
	return drawn
}

// duration estimates how long scenarios take: those that run alone, then the others, of which none is shorter than the longest.
func duration(scenarios []Scenario) time.Duration {
	var alone, shared, longest int
	for _, s := range scenarios {
		if s.Alone {
			alone += s.Minutes
			continue
		}
		shared += s.Minutes
		longest = max(longest, s.Minutes)
	}
	return time.Duration(alone)*time.Minute + max(time.Duration(shared)*time.Minute/Places, time.Duration(longest)*time.Minute)
}

package cli_test

import (
	"os"
	"slices"
	"testing"
)

// everyCall interrupts each call of a command: `make interruptions`. By default, only the first call of each action is interrupted.
var everyCall = os.Getenv("HYPERSHIFT_TEST_EVERY_CALL") == "true"

// call is the n-th call of an action, counted from 1, or without an action the n-th of all.
type call struct {
	action string
	n      int
}

// isAmong is true if the actions contain the call.
func (c call) isAmong(actions []string) bool {
	n := len(actions)
	if c.action != "" {
		n = 0
		for _, a := range actions {
			if a == c.action {
				n++
			}
		}
	}
	return c.n > 0 && n >= c.n
}

// interrupted are the calls at which a test interrupts a command that has made the calls of these actions, in their order. If there are
// selected actions, it is only interrupted at theirs.
func interrupted(actions []string, selected ...string) (calls []call) {
	seen := map[string]int{}
	for _, a := range actions {
		if len(selected) > 0 && !slices.Contains(selected, a) {
			continue
		}
		if seen[a]++; seen[a] == 1 || everyCall {
			calls = append(calls, call{a, seen[a]})
		}
	}
	if testing.Short() && !everyCall {
		at := -1
		return slices.DeleteFunc(calls, func(call) bool { at++; return at%3 > 0 })
	}
	return calls
}

func TestFirstCallOfEachActionIsInterrupted(t *testing.T) {
	actions := []string{"CreateVpc", "CreateSubnet", "CreateTags", "CreateSubnet"}
	want := []call{{"CreateVpc", 1}, {"CreateSubnet", 1}, {"CreateTags", 1}}
	switch {
	case everyCall:
		want = append(want, call{"CreateSubnet", 2})
	case testing.Short():
		want = want[:1]
	}
	if got := interrupted(actions); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := interrupted(actions, "CreateTags", "CreateVpc"); len(got) == 0 || got[0] != (call{"CreateVpc", 1}) {
		t.Errorf("of two selected actions %v", got)
	}
	for c, want := range map[call]bool{{"CreateSubnet", 2}: true, {"CreateSubnet", 3}: false, {"", 4}: true, {"", 5}: false, {}: false} {
		if got := c.isAmong(actions); got != want {
			t.Errorf("%v: %v, want %v", c, got, want)
		}
	}
}

//go:build e2e

package e2e

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/e2e/selection"
)

// scenarios are all of this package. Alone, most take half as long.
var scenarios = []selection.Scenario{
	{Name: "TestAccess", Minutes: 8},
	{Name: "TestAlerts", Minutes: 16, Alone: true},
	{Name: "TestAttacks", Minutes: 5, Alone: true},
	{Name: "TestBackups", Minutes: 8},
	{Name: "TestBreakGlass", Minutes: 3},
	{Name: "TestCommandLine", Minutes: 20},
	{Name: "TestConsole", Minutes: 5, Alone: true},
	{Name: "TestCustomerNetwork", Minutes: 4},
	{Name: "TestDeletionWithMachines", Minutes: 2},
	{Name: "TestDiagnosis", Minutes: 6},
	{Name: "TestDrills", Minutes: 24, Alone: true},
	{Name: "TestEveryday", Minutes: 2},
	{Name: "TestIngress", Minutes: 4},
	{Name: "TestInstallation", Minutes: 2, Alone: true},
	{Name: "TestKarpenter", Minutes: 6},
	{Name: "TestKeys", Minutes: 16},
	{Name: "TestKeysOfTokens", Minutes: 14},
	{Name: "TestMistakes", Minutes: 4},
	{Name: "TestMistakesForLife", Minutes: 1},
	{Name: "TestMove", Minutes: 20, Alone: true},
	{Name: "TestNetworkPolicies", Minutes: 5},
	{Name: "TestNodePools", Minutes: 12},
	{Name: "TestNodePorts", Minutes: 1},
	{Name: "TestNodes", Minutes: 8},
	{Name: "TestNodesThatDoNotJoin", Minutes: 10},
	{Name: "TestOutages", Minutes: 5, Alone: true},
	{Name: "TestPrivate", Minutes: 8},
	{Name: "TestPublishing", Minutes: 4},
	{Name: "TestReferenceManifests", Minutes: 8},
	{Name: "TestRegistry", Minutes: 5},
	{Name: "TestRestores", Minutes: 8, Alone: true},
	{Name: "TestSameRange", Minutes: 3},
	{Name: "TestSharedRouter", Minutes: 13},
	{Name: "TestSleep", Minutes: 8},
	{Name: "TestSnapshots", Minutes: 4},
	{Name: "TestStoppedMachine", Minutes: 5, Alone: true},
	{Name: "TestTenant", Minutes: 4},
	{Name: "TestTwoManagementClusters", Minutes: 5, Alone: true},
	{Name: "TestUpgrade", Minutes: 3},
	{Name: "TestWorkers", Minutes: 5},
}

// begin returns when the scenario can run, or skips it. Scenarios that share the lab wait for one of the places.
func begin(t *testing.T) {
	t.Helper()
	i := slices.IndexFunc(scenarios, func(s selection.Scenario) bool { return s.Name == t.Name() })
	if i < 0 {
		t.Fatalf("%s is not in the list of scenarios", t.Name())
	}
	drawn, err := draw()
	if err != nil {
		t.Fatal(err)
	}
	if !drawn(t.Name()) {
		refuse := t.Skipf
		if repeated() {
			refuse = t.Fatalf // it does not pass by being skipped
		}
		refuse("it takes %d minutes, and was not drawn for this run", scenarios[i].Minutes)
	}
	if !scenarios[i].Alone {
		awaitPlace(t, scenarios[i].Minutes)
	}
	began := time.Now()
	t.Cleanup(func() { t.Logf("%s took %.0f s, without the wait for a place", t.Name(), time.Since(began).Seconds()) })
}

const (
	// untilVariable is the environment variable with the time at which all scenarios have to have ended, in seconds since 1970.
	untilVariable = "HYPERSHIFT_E2E_UNTIL"
	// seedVariable is the environment variable that decides which scenarios run until then.
	seedVariable = "HYPERSHIFT_E2E_SEED"
	// again is how much longer a scenario may take that has failed and runs again, alone.
	again = 10 * time.Minute
)

// draw returns which scenarios run: all that -run and -skip select, or as many of them as end in time.
var draw = sync.OnceValues(func() (func(name string) bool, error) {
	text := os.Getenv(untilVariable)
	if text == "" {
		return func(string) bool { return true }, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is not a time in seconds since 1970: %w", untilVariable, err)
	}
	left := time.Until(time.Unix(seconds, 0))
	run, errRun := regexp.Compile(flag.Lookup("test.run").Value.String())
	skip, errSkip := regexp.Compile(cmp.Or(flag.Lookup("test.skip").Value.String(), "^$"))
	if err := errors.Join(errRun, errSkip); err != nil {
		return nil, fmt.Errorf("-run and -skip select scenarios: %w", err)
	}
	selected := slices.DeleteFunc(slices.Clone(scenarios), func(s selection.Scenario) bool { return !run.MatchString(s.Name) || skip.MatchString(s.Name) })
	if repeated() {
		left += again
		selected[0].Minutes = (selected[0].Minutes + 1) / 2
	}
	drawn := selection.Draw(selected, os.Getenv(seedVariable), left)
	return func(name string) bool { return drawn[name] }, nil
})

// repeated is true if this process runs one scenario again, because it has failed.
func repeated() bool {
	run := flag.Lookup("test.run").Value.String()
	return slices.ContainsFunc(scenarios, func(s selection.Scenario) bool { return run == "^"+s.Name+"$" })
}

// A turn is a scenario that waits for a place.
type turn struct {
	minutes int
	begin   chan struct{}
}

var queue = struct {
	sync.Mutex
	free    int
	waiting []turn
}{free: selection.Places}

// awaitPlace lets a scenario run while others do. It begins before those that take fewer minutes, so that no long one is the last. go test would
// start them in no particular order.
func awaitPlace(t *testing.T, minutes int) {
	t.Helper()
	mine := turn{minutes: minutes, begin: make(chan struct{})}
	queue.Lock()
	queue.waiting = append(queue.waiting, mine)
	queue.Unlock()
	t.Parallel() // returns when every scenario waits for a place
	givePlaces(0)
	<-mine.begin
	t.Cleanup(func() { givePlaces(1) })
}

// givePlaces lets scenarios begin that wait for a place, after so many have become free.
func givePlaces(more int) {
	queue.Lock()
	defer queue.Unlock()
	queue.free += more
	slices.SortStableFunc(queue.waiting, func(a, b turn) int { return cmp.Compare(b.minutes, a.minutes) })
	for queue.free > 0 && len(queue.waiting) > 0 {
		close(queue.waiting[0].begin)
		queue.waiting = queue.waiting[1:]
		queue.free--
	}
}

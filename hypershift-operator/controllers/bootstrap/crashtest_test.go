package bootstrap

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// stories are the lives of a machine.
var stories = map[string]crashtest.Setup{
	"a machine that joins": func(t testing.TB) *crashtest.Scenario {
		e := newFakeMachine(t)
		e.joins = true
		return e.scenario()
	},
	"a machine that has not joined yet": func(t testing.TB) *crashtest.Scenario { return newFakeMachine(t).scenario() },
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	for name, begin := range stories {
		t.Run(name, func(t *testing.T) {
			t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, begin) })
			t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, begin) })
			t.Run("faults", func(t *testing.T) { crashtest.APIFaults(t, begin) })
		})
	}
}

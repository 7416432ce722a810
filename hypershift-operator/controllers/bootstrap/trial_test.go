package bootstrap

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/test/trial"
)

// stories are the lives of a machine.
var stories = map[string]trial.Beginning{
	"a machine that joins": func(t testing.TB) *trial.Story {
		w := newWorld(t)
		w.joins = true
		return w.story()
	},
	"a machine that has not joined yet": func(t testing.TB) *trial.Story { return newWorld(t).story() },
}

func TestTrial(t *testing.T) {
	for name, begin := range stories {
		t.Run(name, func(t *testing.T) {
			t.Run("crash", func(t *testing.T) { trial.Crash(t, begin) })
			t.Run("vanish", func(t *testing.T) { trial.Vanish(t, begin) })
			t.Run("faults", func(t *testing.T) { trial.APIFaults(t, begin) })
		})
	}
}

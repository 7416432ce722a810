package nodepool

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/test/trial"
)

// life of a pool of two workers.
func life(t testing.TB) *trial.Story { return newWorld(t).story() }

func TestTrial(t *testing.T) {
	t.Run("crash", func(t *testing.T) { trial.Crash(t, life) })
	t.Run("vanish", func(t *testing.T) { trial.Vanish(t, life) })
}

func TestTrialUnderFaults(t *testing.T) { trial.APIFaults(t, life) }

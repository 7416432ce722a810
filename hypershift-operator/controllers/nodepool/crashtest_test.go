package nodepool

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// newScenario returns the scenario of a pool with two workers.
func newScenario(t testing.TB) *crashtest.Scenario {
	return newFakeClusterAPI(t).Scenario(hyperv1.NodePoolReadyCondition)
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, newScenario) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, newScenario) })
}

func TestAPoolSurvivesAPIFaults(t *testing.T) { crashtest.APIFaults(t, newScenario) }

// Whenever the NodePool gets lost, its machines go.
func TestALostPoolLeavesNoMachines(t *testing.T) {
	crashtest.NoLeaks(t, func(t testing.TB) *crashtest.Scenario {
		e := newFakeClusterAPI(t)
		e.capi.lost = true
		scenario := e.Scenario(hyperv1.NodePoolReadyCondition)
		scenario.Delete = e.lose
		return scenario
	})
}

// lose lets the pool be gone at once, whatever was to be done before: its user
// took the finalizer away, or was quicker than it.
func (e *fakeClusterAPI) lose(ctx context.Context) error {
	np := &hyperv1.NodePool{}
	if err := e.Admin().Get(ctx, key, np); err != nil {
		return err
	}
	np.Finalizers = nil
	return errors.Join(e.Admin().Update(ctx, np), client.IgnoreNotFound(e.Admin().Delete(ctx, np)))
}

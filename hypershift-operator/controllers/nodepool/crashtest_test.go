package nodepool

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// life of a pool of two workers.
func life(t testing.TB) *crashtest.Scenario { return newWorld(t).story() }

func TestTrial(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, life) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, life) })
}

func TestAPoolSurvivesAPIFaults(t *testing.T) { crashtest.APIFaults(t, life) }

// Whenever the NodePool gets lost, its machines go.
func TestALostPoolLeavesNoMachines(t *testing.T) {
	crashtest.NoLeaks(t, func(t testing.TB) *crashtest.Scenario {
		w := newWorld(t)
		w.capi.lost = true
		story := w.story()
		story.Delete = w.lose
		return story
	})
}

// lose lets the pool be gone at once, whatever was to be done before: its user
// took the finalizer away, or was quicker than it.
func (w *world) lose(ctx context.Context) error {
	np := &hyperv1.NodePool{}
	if err := w.Admin().Get(ctx, key, np); err != nil {
		return err
	}
	np.Finalizers = nil
	return errors.Join(w.Admin().Update(ctx, np), client.IgnoreNotFound(w.Admin().Delete(ctx, np)))
}

package components

import (
	"context"
	"errors"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func story(policy hyperv1.AvailabilityPolicy) crashtest.Setup {
	return func(t testing.TB) *crashtest.Scenario {
		e := newFakeKubelet(t, controlPlane(policy))
		s := e.Scenario()
		s.Ready = e.ready
		remove := s.Delete
		s.Delete = func(ctx context.Context) error { // the hypershift-operator deletes the machines first, and then Cluster API
			return errors.Join(e.Admin().Delete(ctx, clusterAPI()), remove(ctx))
		}
		return s
	}
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	for _, policy := range []hyperv1.AvailabilityPolicy{hyperv1.SingleReplica, hyperv1.HighlyAvailable} {
		t.Run(string(policy)+": crash", func(t *testing.T) { t.Parallel(); crashtest.CrashConsistency(t, story(policy)) })
	}
	t.Run("vanish", func(t *testing.T) { t.Parallel(); crashtest.NoLeaks(t, story(hyperv1.SingleReplica)) })
}

func TestCrashConsistencyUnderFaults(t *testing.T) {
	crashtest.APIFaults(t, func(t testing.TB) *crashtest.Scenario {
		s := story(hyperv1.HighlyAvailable)(t)
		s.MaxPasses = 70 // each fault of an object that shared pods mount delays these
		return s
	})
}

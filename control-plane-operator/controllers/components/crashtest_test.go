package components

import (
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func story(policy hyperv1.AvailabilityPolicy) crashtest.Setup {
	return func(t testing.TB) *crashtest.Scenario {
		e := newFakeKubelet(t, controlPlane(policy))
		s := e.Scenario()
		s.Ready = e.ready
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
	crashtest.APIFaults(t, story(hyperv1.HighlyAvailable))
}

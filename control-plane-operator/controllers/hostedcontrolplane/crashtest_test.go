package hostedcontrolplane

import (
	"context"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func story(mode hyperv1.AWSEndpointAccessType) crashtest.Setup {
	return func(t testing.TB) *crashtest.Scenario {
		return newTestEnv(t, controlPlane(mode, hyperv1.Route)).story()
	}
}

func (w *testEnv) story() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster:          w.Cluster,
		Cloud:            w.cloud,
		Start:            w.start,
		OtherControllers: w.cloudController,
		Advance:          w.clock.Step,
		Ready:            w.ready,
		Delete:           func(ctx context.Context) error { return w.Admin().Delete(ctx, controlPlane("", hyperv1.Route)) },
	}
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	for _, mode := range []hyperv1.AWSEndpointAccessType{hyperv1.Public, hyperv1.PublicAndPrivate, hyperv1.Private} {
		t.Run(string(mode)+": crash", func(t *testing.T) { t.Parallel(); crashtest.CrashConsistency(t, story(mode)) })
		t.Run(string(mode)+": vanish", func(t *testing.T) { t.Parallel(); crashtest.NoLeaks(t, story(mode)) })
	}
}

func TestCrashConsistencyUnderFaults(t *testing.T) {
	crashtest.APIFaults(t, story(hyperv1.PublicAndPrivate))
}

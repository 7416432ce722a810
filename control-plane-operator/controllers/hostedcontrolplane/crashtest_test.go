package hostedcontrolplane

import (
	"context"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func story(mode hyperv1.AWSEndpointAccessType) crashtest.Setup {
	return func(t testing.TB) *crashtest.Scenario {
		return newFakeCloudController(t, controlPlane(mode, hyperv1.Route)).story()
	}
}

func (e *fakeCloudController) story() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster:          e.Cluster,
		Cloud:            e.cloud,
		Start:            e.start,
		OtherControllers: e.cloudController,
		Advance:          e.clock.Step,
		Ready:            e.ready,
		Delete:           func(ctx context.Context) error { return e.Admin().Delete(ctx, controlPlane("", hyperv1.Route)) },
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

package hostedcontrolplane

import (
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
	s := e.Scenario(hyperv1.InfrastructureReady)
	s.Cloud = e.cloud
	return s
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

package hostedcluster

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// newScenario returns the scenario of a private cluster.
func newScenario(t testing.TB) *crashtest.Scenario { return newManagementCluster(t).scenario() }

func (e *managementCluster) scenario() *crashtest.Scenario {
	s := e.Scenario(hyperv1.HostedClusterAvailable)
	s.Delete = func(ctx context.Context) error {
		// With the cluster go the node pools that it would not delete if it
		// had never begun, and the user's Secret.
		return errors.Join(e.Admin().Delete(ctx, privateCluster()),
			client.IgnoreNotFound(e.Admin().Delete(ctx, pool())), client.IgnoreNotFound(e.Admin().Delete(ctx, testenv.PullSecret())))
	}
	return s
}

// The richest cluster makes all the writes that others make.
func TestCrashConsistency(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, richScenario) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, richScenario) })
}

func TestCrashConsistencyUnderAWSFaults(t *testing.T) {
	for name, f := range map[string]fakeaws.Fault{
		"S3 throttles for long":                  {Kind: fakeaws.Throttled, Times: 20},
		"S3 fails inside":                        {Kind: fakeaws.ServerError, Times: 10},
		"a proxy answers in the place of S3":     {Kind: fakeaws.Garbled, Times: 10},
		"connections break":                      {Kind: fakeaws.Reset, Times: 10},
		"the answer to publishing is lost":       {Operation: "PutObject", Kind: fakeaws.AnswerLost, Times: 9},
		"the answer to removing is lost":         {Operation: "DeleteObjects", Kind: fakeaws.AnswerLost, Times: 9},
		"the bucket's policy is wrong for a bit": {Kind: fakeaws.Denied, Times: 5},
		"the credentials have expired":           {Kind: fakeaws.Expired, Times: 5},
	} {
		f.Service = fakeaws.S3
		t.Run(name, func(t *testing.T) {
			envs := map[*crashtest.Cluster]*managementCluster{}
			begin := func(t testing.TB) *crashtest.Scenario {
				e := newManagementCluster(t)
				envs[e.Cluster] = e
				return e.scenario()
			}
			inject := func(s *crashtest.Scenario) { envs[s.Cluster].AWS.Fault(f) }
			crashtest.FaultTolerance(t, begin, inject)
			crashtest.NoLeaksWith(t, begin, inject)
		})
	}
}

func TestCrashConsistencyUnderAPIFaults(t *testing.T) { crashtest.APIFaults(t, newScenario) }

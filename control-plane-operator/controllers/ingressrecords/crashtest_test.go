package ingressrecords

import (
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

func setup(t testing.TB) *crashtest.Scenario {
	return newCustomerZones(t).Scenario(hyperv1.IngressRecordsAvailable)
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, setup) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, setup) })
}

func TestCrashConsistencyUnderFaults(t *testing.T) {
	crashtest.APIFaults(t, setup)
	for name, f := range map[string]fakeaws.Fault{
		"Route 53 throttles for long":                {Service: fakeaws.Route53, Kind: fakeaws.Throttled, Times: 20, Role: "demo-ingress"},
		"Route 53 fails inside":                      {Service: fakeaws.Route53, Kind: fakeaws.ServerError, Times: 10, Role: "demo-ingress"},
		"connections break":                          {Kind: fakeaws.Reset, Times: 10, Role: "demo-ingress"},
		"the answers to changes of records are lost": {Operation: "ChangeResourceRecordSets", Kind: fakeaws.AnswerLost, Times: 2, Role: "demo-ingress"},
		"a policy is missing for a while":            {Service: fakeaws.Route53, Kind: fakeaws.Denied, Times: 5, Role: "demo-ingress"},
		"the role cannot be assumed for a while":     {Operation: "AssumeRoleWithWebIdentity", Kind: fakeaws.Denied, Times: 5},
	} {
		t.Run(name, func(t *testing.T) {
			envs := map[*crashtest.Cluster]*customerZones{}
			begin := func(t testing.TB) *crashtest.Scenario {
				e := newCustomerZones(t)
				envs[e.Cluster] = e
				return e.Scenario(hyperv1.IngressRecordsAvailable)
			}
			inject := func(s *crashtest.Scenario) { envs[s.Cluster].AWS.Fault(f) }
			crashtest.FaultTolerance(t, begin, inject)
			crashtest.NoLeaksWith(t, begin, inject)
		})
	}
}

package aws

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// privateCluster is the life of one AWSEndpointService.
func privateCluster(t testing.TB) *crashtest.Scenario { return newPrivateLink(t).scenario() }

func (e *privateLink) scenario() *crashtest.Scenario {
	s := e.Scenario()
	s.Ready, s.Mask = e.ready, masked
	return s
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, privateCluster) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, privateCluster) })
}

func TestCrashConsistencyUnderFaults(t *testing.T) {
	for name, f := range map[string]fakeaws.Fault{
		"EC2 throttles for long":                      {Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: 20},
		"ELB throttles for long":                      {Service: fakeaws.ELB, Kind: fakeaws.Throttled, Times: 20},
		"EC2 fails inside":                            {Service: fakeaws.EC2, Kind: fakeaws.ServerError, Times: 10},
		"a proxy answers in the place of EC2":         {Service: fakeaws.EC2, Kind: fakeaws.Garbled, Times: 10},
		"connections break":                           {Kind: fakeaws.Reset, Times: 10},
		"the answer to creating is lost":              {Operation: "CreateVpcEndpointServiceConfiguration", Kind: fakeaws.AnswerLost, Times: 9},
		"the answer to letting principals in is lost": {Operation: "ModifyVpcEndpointServicePermissions", Kind: fakeaws.AnswerLost, Times: 9},
		"the answer to deleting is lost":              {Operation: "DeleteVpcEndpointServiceConfigurations", Kind: fakeaws.AnswerLost, Times: 9},
		"a policy is missing for a while":             {Service: fakeaws.EC2, Kind: fakeaws.Denied, Times: 5},
		"the credentials have expired":                {Kind: fakeaws.Expired, Times: 10},
	} {
		f.Account = provider
		t.Run(name, func(t *testing.T) {
			envs := map[*crashtest.Cluster]*privateLink{}
			begin := func(t testing.TB) *crashtest.Scenario {
				e := newPrivateLink(t)
				envs[e.Cluster] = e
				return e.scenario()
			}
			inject := func(s *crashtest.Scenario) { envs[s.Cluster].AWS.Fault(f) }
			crashtest.FaultTolerance(t, begin, inject)
			crashtest.NoLeaksWith(t, begin, inject)
		})
	}
}

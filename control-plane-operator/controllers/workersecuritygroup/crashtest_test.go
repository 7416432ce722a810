package workersecuritygroup

import (
	"regexp"
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// generated matches values that AWS generates: two runs do not share them.
var generated = regexp.MustCompile(`sg-0[0-9a-f]{16}`)

func (e *customerAccount) scenario() *crashtest.Scenario {
	s := e.Scenario(hyperv1.AWSDefaultSecurityGroupCreated)
	s.Mask = func(text string) string { return generated.ReplaceAllString(text, "sg-generated") }
	return s
}

func quickAWS(t testing.TB) *crashtest.Scenario { return newCustomerAccount(t).scenario() }

// slowAWS lists new resources only after a while.
func slowAWS(t testing.TB) *crashtest.Scenario {
	e := newCustomerAccount(t)
	d := fakeaws.UsualDelays
	d.Listed = 25 * time.Second
	e.AWS.SetDelays(d)
	return e.scenario()
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, quickAWS) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, quickAWS) })
	t.Run("slow AWS: crash", func(t *testing.T) { crashtest.CrashConsistency(t, slowAWS) })
	t.Run("slow AWS: vanish", func(t *testing.T) { crashtest.NoLeaks(t, slowAWS) })
}

func TestCrashConsistencyUnderFaults(t *testing.T) {
	crashtest.APIFaults(t, quickAWS)
	for name, f := range map[string]fakeaws.Fault{
		"EC2 throttles for long":                   {Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: 20, Role: "demo-cpo"},
		"STS throttles for long":                   {Service: fakeaws.STS, Kind: fakeaws.Throttled, Times: 20},
		"EC2 fails inside":                         {Service: fakeaws.EC2, Kind: fakeaws.ServerError, Times: 10, Role: "demo-cpo"},
		"connections break":                        {Kind: fakeaws.Reset, Times: 10, Role: "demo-cpo"},
		"the answer to creating the group is lost": {Operation: "CreateSecurityGroup", Kind: fakeaws.AnswerLost, Times: 1, Role: "demo-cpo"},
		"the answer to authorizing is lost":        {Operation: "AuthorizeSecurityGroupIngress", Kind: fakeaws.AnswerLost, Times: 1, Role: "demo-cpo"},
		"the answer to deleting the group is lost": {Operation: "DeleteSecurityGroup", Kind: fakeaws.AnswerLost, Times: 2, Role: "demo-cpo"},
		"a policy is missing for a while":          {Service: fakeaws.EC2, Kind: fakeaws.Denied, Times: 5, Role: "demo-cpo"},
		"the role cannot be assumed for a while":   {Operation: "AssumeRoleWithWebIdentity", Kind: fakeaws.Denied, Times: 5},
		"the credentials have expired":             {Service: fakeaws.EC2, Kind: fakeaws.Expired, Times: 10, Role: "demo-cpo"},
	} {
		t.Run(name, func(t *testing.T) {
			envs := map[*crashtest.Cluster]*customerAccount{}
			begin := func(t testing.TB) *crashtest.Scenario {
				e := newCustomerAccount(t)
				envs[e.Cluster] = e
				return e.scenario()
			}
			inject := func(s *crashtest.Scenario) { envs[s.Cluster].AWS.Fault(f) }
			crashtest.FaultTolerance(t, begin, inject)
			crashtest.NoLeaksWith(t, begin, inject)
		})
	}
}

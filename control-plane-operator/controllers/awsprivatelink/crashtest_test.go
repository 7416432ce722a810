package awsprivatelink

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func (e *customerNetwork) scenario() *crashtest.Scenario {
	s := e.Scenario()
	s.Ready, s.Delete, s.Mask = e.ready, e.delete, masked
	return s
}

// delete removes the control plane at once, and its Services: later steps must work without them.
func (e *customerNetwork) delete(ctx context.Context) error {
	for _, obj := range []client.Object{
		testenv.HostedControlPlane(),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.PrivateRouter}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeAPIServerPrivate}},
	} {
		if err := e.Admin().Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// privateCluster uses only the standard path.
func privateCluster(t testing.TB) *crashtest.Scenario { return newCustomerNetwork(t).scenario() }

// twoServices has another load balancer, for the API server, and the lists of AWS
// lag.
func twoServices(t testing.TB) *crashtest.Scenario {
	e := newCustomerNetwork(t)
	e.addService(names.KubeAPIServerPrivate)
	hcp := testenv.HostedControlPlane()
	e.Change(hcp, func() { hcp.Spec.Services = nil })
	d := fakeaws.UsualDelays
	d.Listed = 25 * time.Second
	e.AWS.SetDelays(d)
	return e.scenario()
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("one service: crash", func(t *testing.T) { crashtest.CrashConsistency(t, privateCluster) })
	t.Run("one service: vanish", func(t *testing.T) { crashtest.NoLeaks(t, privateCluster) })
	t.Run("two services: crash", func(t *testing.T) { crashtest.CrashConsistency(t, twoServices) })
	t.Run("two services: vanish", func(t *testing.T) { crashtest.NoLeaks(t, twoServices) })
}

func TestCrashConsistencyUnderFaults(t *testing.T) {
	for name, f := range map[string]fakeaws.Fault{
		"EC2 throttles for long":                      {Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: 20},
		"Route53 throttles for long":                  {Service: fakeaws.Route53, Kind: fakeaws.Throttled, Times: 20},
		"STS throttles for long":                      {Service: fakeaws.STS, Kind: fakeaws.Throttled, Times: 20},
		"EC2 fails inside":                            {Service: fakeaws.EC2, Kind: fakeaws.ServerError, Times: 10},
		"a proxy answers in the place of EC2":         {Service: fakeaws.EC2, Kind: fakeaws.Garbled, Times: 10},
		"connections break":                           {Kind: fakeaws.Reset, Times: 10},
		"the answer to creating the endpoint is lost": {Operation: "CreateVpcEndpoint", Kind: fakeaws.AnswerLost, Times: 9},
		"the answer to creating the group is lost":    {Operation: "CreateSecurityGroup", Kind: fakeaws.AnswerLost, Times: 1},
		"the answer to authorizing is lost":           {Operation: "AuthorizeSecurityGroupIngress", Kind: fakeaws.AnswerLost, Times: 1},
		"the answer to making the records is lost":    {Operation: "ChangeResourceRecordSets", Kind: fakeaws.AnswerLost, Times: 2},
		"the answer to deleting the endpoint is lost": {Operation: "DeleteVpcEndpoints", Kind: fakeaws.AnswerLost, Times: 9},
		"the answer to deleting the group is lost":    {Operation: "DeleteSecurityGroup", Kind: fakeaws.AnswerLost, Times: 2},
		"a policy is missing for a while":             {Service: fakeaws.EC2, Kind: fakeaws.Denied, Times: 5},
		"the role cannot be assumed for a while":      {Operation: "AssumeRoleWithWebIdentity", Kind: fakeaws.Denied, Times: 5},
		"the credentials have expired":                {Service: fakeaws.EC2, Kind: fakeaws.Expired, Times: 10},
	} {
		f.Role = "demo-cpo"
		if f.Service == fakeaws.STS || f.Operation == "AssumeRoleWithWebIdentity" {
			f.Role = "" // the caller has no credentials yet
		}
		t.Run(name, func(t *testing.T) {
			envs := map[*crashtest.Cluster]*customerNetwork{}
			begin := func(t testing.TB) *crashtest.Scenario {
				e := newCustomerNetwork(t)
				envs[e.Cluster] = e
				return e.scenario()
			}
			inject := func(s *crashtest.Scenario) { envs[s.Cluster].AWS.Fault(f) }
			crashtest.FaultTolerance(t, begin, inject)
			crashtest.NoLeaksWith(t, begin, inject)
		})
	}
}

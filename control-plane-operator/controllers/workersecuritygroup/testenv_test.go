package workersecuritygroup

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	region    = testenv.Region
	customer  = testenv.Customer
	namespace = testenv.Namespace
	issuer    = testenv.Issuer
	resync    = 30 * time.Minute
)

// customerAccount is a control plane and the account of its customer.
type customerAccount struct {
	*testenv.Env
	theirs *fakeaws.Account
	vpc    string

	reconciler *Controller
	sessions   *identity.Sessions
}

func newCustomerAccount(t testing.TB) *customerAccount {
	e := &customerAccount{Env: testenv.New(t, testenv.WithKinds(&hyperv1.HostedControlPlaneList{}), testenv.WithStatus(&hyperv1.HostedControlPlane{}))}
	var role string
	e.theirs, role = e.CustomerAccount()
	e.vpc = e.theirs.AddVPC(region, fakeaws.VPC{})
	hcp := testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		aws := hcp.Spec.Platform.AWS
		aws.EndpointAccess, aws.RolesRef.ControlPlaneOperatorARN = hyperv1.Public, hyperv1.RoleARN(role)
		aws.CloudProviderConfig = &hyperv1.AWSCloudProviderConfig{VPC: e.vpc}
		aws.ResourceTags = []hyperv1.AWSResourceTag{{Key: "team", Value: "blue"}}
	})
	e.Create(testenv.SigningKeySecret(), hcp)
	e.Object, e.Start = hcp, e.start
	e.Restart()
	return e
}

func (e *customerAccount) start() testenv.Pass {
	signer, sessions := e.Sessions()
	e.sessions = sessions
	e.reconciler = New(Options{Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Recorder: e.Events, Clock: e.Clock, Sessions: sessions, KeyReady: signer.Ready, ResyncPeriod: resync})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, e.reconciler.ReconcileObject)
}

// published is the id in the status.
func (e *customerAccount) published() string {
	return (&scope{hcp: e.HCP()}).published()
}

// group returns the group in AWS, one line for each rule, or nil.
func (e *customerAccount) group() []string {
	lines := e.AWSLines("demo-x-default-sg")
	slices.Sort(lines)
	return lines
}

// calls counts the calls of the controller since the last time, by action.
func (e *customerAccount) calls() (total int, what map[string]int) {
	what = map[string]int{}
	for _, c := range e.AWS.Calls() {
		if c.Role != "admin" {
			what[c.Action()]++
			total++
		}
	}
	e.AWS.ForgetCalls()
	return total, what
}

// customerEC2 is a client of others: its calls are not the controller's.
func (e *customerAccount) customerEC2() *ec2.Client {
	return awsx.EC2(e.theirs.Config(region, "admin"))
}

// try takes the results of an SDK call and fails the test on an error.
func (e *customerAccount) try(_ any, err error) {
	e.T.Helper()
	e.Must(err)
}

// otherController is the Manager of another controller of the cluster.
func (e *customerAccount) otherController() *securitygroup.Manager {
	record := e.HCP().Status.WorkerSecurityGroup
	s, err := e.sessions.For(e.T.Context(), identity.Target{Region: record.Region, IssuerURL: record.IssuerURL, RoleARN: record.RoleARN})
	e.Must(err)
	return securitygroup.Shared(s, e.Clock, string(e.HCP().UID), record.VPC)
}

package awsidentity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	region    = testenv.Region
	customer  = testenv.Customer
	namespace = testenv.Namespace
	issuer    = testenv.Issuer
	interval  = 30 * time.Minute
)

// fakeIdentityProvider is a control plane and its identity in the account of its customer.
type fakeIdentityProvider struct {
	*testenv.Env
	theirs   *fakeaws.Account
	role     string
	sessions *identity.Sessions
	// reconciler is the last started reconciler.
	reconciler *Reconciler
	// asksRoles makes the probe check the trust policies of the roles, too.
	asksRoles bool
}

func newFakeIdentityProvider(t testing.TB) *fakeIdentityProvider {
	e := &fakeIdentityProvider{Env: testenv.New(t, testenv.WithKinds(&hyperv1.HostedControlPlaneList{}), testenv.WithStatus(&hyperv1.HostedControlPlane{}))}
	e.theirs = e.AWS.Account(customer)
	e.TrustIssuer(e.theirs)
	e.role = e.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	e.Object = testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.EndpointAccess = ""
		hcp.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = hyperv1.RoleARN(e.role)
	})
	e.Create(testenv.SigningKeySecret(), e.Object)
	e.Start = e.start
	e.Restart()
	return e
}

// start makes the probe anew and returns one pass of it.
func (e *fakeIdentityProvider) start() func(context.Context) error {
	var signer *tokensigner.Signer
	signer, e.sessions = e.Sessions()
	opts := Options{Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Clock: e.Clock, Sessions: e.sessions, KeyReady: signer.Ready, Interval: interval}
	if e.asksRoles {
		opts.TakeRole = e.takeRole(signer)
	}
	e.reconciler = newReconciler(opts)
	r := e.reconciler.controller()
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
		result, err := r.ReconcileObject(ctx, hcp)
		if err == nil && result.RequeueAfter == 0 {
			err = errors.New("the probe has stopped")
		}
		return result, err
	})
}

func (e *fakeIdentityProvider) story() *crashtest.Scenario {
	s := e.Scenario(hyperv1.ValidAWSIdentityProvider)
	// Of the passes without a write, one finds an answer of AWS that counts and the next one calls again: with the trial's own small
	// steps the first answer would count to the end.
	s.Advance = func(time.Duration) { e.Clock.Step(interval * 2 / 3) }
	return s
}

func (e *fakeIdentityProvider) target() identity.Target {
	return identity.Target{Region: region, IssuerURL: issuer, RoleARN: e.role}
}

func TestWhatAWSSays(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(*fakeIdentityProvider)
		status metav1.ConditionStatus
		reason string
		words  []string
	}{
		"it knows us":             {func(*fakeIdentityProvider) {}, metav1.ConditionTrue, hyperv1.AsExpectedReason, nil},
		"it knows no such issuer": {func(e *fakeIdentityProvider) { e.theirs.RemoveIdentityProvider(issuer) }, metav1.ConditionFalse, hyperv1.InvalidIdentityProviderReason, []string{issuer}},
		"the role does not trust us": {func(e *fakeIdentityProvider) {
			e.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer, Subjects: []string{"somebody else"}}}})
		}, metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason, []string{"AccessDenied"}},
		"there is no such role": {func(e *fakeIdentityProvider) { e.theirs.RemoveRole("demo-cpo") }, metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason, nil},
		"it throttles":          {func(e *fakeIdentityProvider) { e.fault(fakeaws.Throttled) }, metav1.ConditionUnknown, "AWSThrottled", nil},
		"it does not answer":    {func(e *fakeIdentityProvider) { e.fault(fakeaws.Reset) }, metav1.ConditionUnknown, "AWSUnavailable", nil},
		"it fails inside":       {func(e *fakeIdentityProvider) { e.fault(fakeaws.ServerError) }, metav1.ConditionUnknown, "AWSUnavailable", nil},
		"we have no key yet":    {func(e *fakeIdentityProvider) { e.Delete(testenv.SigningKeySecret()) }, metav1.ConditionUnknown, hyperv1.WaitingForSigningKeyReason, []string{names.ServiceAccountSigningKey}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeIdentityProvider(t)
			c.spoil(e)
			e.Restart()
			e.Once()
			e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, c.status, c.reason, c.words...)
			first := e.Condition(hyperv1.ValidAWSIdentityProvider).Message
			if strings.Contains(first, "attempts") || strings.Contains(first, "RequestID") {
				t.Errorf("the message differs between two attempts: %q", first)
			}
			// The second pass reports the records of the sessions.
			e.Clock.Step(time.Second)
			e.Once()
			e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, c.status, c.reason, c.words...)
			if again := e.Condition(hyperv1.ValidAWSIdentityProvider).Message; again != first {
				t.Errorf("the message was %q and is %q", first, again)
			}
		})
	}
}

func (e *fakeIdentityProvider) fault(k fakeaws.Kind) {
	e.AWS.Fault(fakeaws.Fault{Service: fakeaws.STS, Kind: k, Times: fakeaws.Forever})
}

// A missing answer is no evidence: a True condition stays True, and AWS is called again soon.
func TestSilenceIsNotNo(t *testing.T) {
	e := newFakeIdentityProvider(t)
	e.Once()
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)

	e.Clock.Step(2 * interval)
	heal := e.AWS.Fault(fakeaws.Fault{Service: fakeaws.STS, Kind: fakeaws.Reset, Times: fakeaws.Forever})
	e.Once()
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	heal()

	e.theirs.RemoveRole("demo-cpo")
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason)

	e.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	e.Clock.Step(time.Minute)
	e.Once()
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

// Whoever calls AWS tells the probe, which then need not call itself.
func TestTheCallsOfOthersCount(t *testing.T) {
	e := newFakeIdentityProvider(t)
	s, err := e.sessions.For(t.Context(), e.target())
	e.Must(err)
	e.AWS.Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Denied, Times: fakeaws.Forever})
	if _, err := awsx.EC2(s.Config).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{}); err == nil {
		t.Fatal("this call was meant to be denied")
	}
	e.AWS.ForgetCalls()
	for range 10 {
		e.Once()
		e.Clock.Step(2 * time.Minute)
	}
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason) // a denied role is known to AWS
	if calls := e.AWS.Calls(); len(calls) > 0 {
		t.Errorf("the probe called by itself: %v", fakeaws.Count(calls))
	}
	e.Clock.Step(interval)
	e.Once()
	if got := fakeaws.Count(e.AWS.Calls()); len(got) != 1 || got["sts:GetCallerIdentity"] != 1 {
		t.Errorf("after %s of silence: %v", interval, got)
	}
}

// A private cluster's endpoint needs calls anyway: the first of them answers the probe, which makes its own call only without another
// caller.
func TestTheFirstCallIsLeftToOthers(t *testing.T) {
	begin := func(t *testing.T) *fakeIdentityProvider {
		e := newFakeIdentityProvider(t)
		e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
		e.Restart()
		e.Once()
		if calls := e.AWS.Calls(); len(calls) > 0 {
			t.Errorf("the probe called first: %v", fakeaws.Count(calls))
		}
		e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionUnknown, hyperv1.StatusUnknownReason)
		return e
	}
	t.Run("and they make it", func(t *testing.T) {
		e := begin(t)
		s, err := e.sessions.For(t.Context(), e.target())
		e.Must(err)
		_, err = awsx.EC2(s.Config).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
		e.Must(err)
		e.Clock.Step(firstCallInterval)
		e.Once()
		e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
		if n := fakeaws.Count(e.AWS.Calls())["sts:GetCallerIdentity"]; n > 0 {
			t.Errorf("the probe called %d times", n)
		}
	})
	t.Run("and they do not make it", func(t *testing.T) {
		e := begin(t)
		e.Clock.Step(firstCallTimeout)
		e.Once()
		e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	})
	t.Run("and the cluster is being deleted", func(t *testing.T) {
		e := begin(t)
		e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Finalizers = []string{"example.com/somebody"} })
		e.Delete(e.Object)
		e.Once()
		e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	})
}

// AWS refuses the sessions of a deleted role at once. The next call of another controller then shows that the role is lost. Without
// it, a deletion would wait for the end of the session, or of the interval, before anything is reported as left behind.
func TestADeletedRoleIsNoticedWhileItsSessionWouldLast(t *testing.T) {
	for name, end := range map[string]func(*fakeaws.Account, string){
		"AWS does not accept the session": (*fakeaws.Account).ExpireCredentials,
		"AWS denies all that it does":     (*fakeaws.Account).RevokeSessions,
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeIdentityProvider(t)
			s, err := e.sessions.For(t.Context(), e.target())
			e.Must(err)
			call := func() error {
				_, err := awsx.EC2(s.Config).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
				return err
			}
			e.Must(call())
			e.Once()
			e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)

			e.theirs.RemoveRole("demo-cpo")
			end(e.theirs, "demo-cpo")
			e.Clock.Step(awsx.RefusedCredentialsAge)
			for range 2 { // the first call is refused, the second one takes a new session
				e.Clock.Step(time.Second)
				if err := call(); err == nil {
					t.Fatal("a session of a deleted role works")
				}
				e.Once()
			}
			e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason, "AssumeRoleWithWebIdentity", "AccessDenied")
		})
	}
}

// AWS may misbehave for a while: the world is the same in the end.
func TestTrialUnderFaults(t *testing.T) {
	for name, f := range map[string]fakeaws.Fault{
		"STS throttles for long":                 {Service: fakeaws.STS, Kind: fakeaws.Throttled, Times: 20},
		"STS fails inside":                       {Service: fakeaws.STS, Kind: fakeaws.ServerError, Times: 10},
		"connections break":                      {Kind: fakeaws.Reset, Times: 10},
		"a proxy answers in the place of STS":    {Service: fakeaws.STS, Kind: fakeaws.Garbled, Times: 10},
		"the answer is lost":                     {Operation: "AssumeRoleWithWebIdentity", Kind: fakeaws.AnswerLost, Times: 3},
		"the role cannot be assumed for a while": {Operation: "AssumeRoleWithWebIdentity", Kind: fakeaws.Denied, Times: 5},
		"the credentials have expired":           {Operation: "GetCallerIdentity", Kind: fakeaws.Expired, Times: 5},
	} {
		t.Run(name, func(t *testing.T) {
			worlds := map[*crashtest.Cluster]*fakeIdentityProvider{}
			begin := func(t testing.TB) *crashtest.Scenario {
				e := newFakeIdentityProvider(t)
				worlds[e.Cluster] = e
				return e.story()
			}
			inject := func(s *crashtest.Scenario) { worlds[s.Cluster].AWS.Fault(f) }
			crashtest.FaultTolerance(t, begin, inject)
			crashtest.NoLeaksWith(t, begin, inject)
		})
	}
}

func TestTrial(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario { return newFakeIdentityProvider(t).story() }
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, begin) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, begin) })
}

func TestTrialUnderAPIFaults(t *testing.T) {
	crashtest.APIFaults(t, func(t testing.TB) *crashtest.Scenario { return newFakeIdentityProvider(t).story() })
}

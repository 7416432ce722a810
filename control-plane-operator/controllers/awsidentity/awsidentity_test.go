package awsidentity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/names"
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

var scheme = testenv.Scheme()

type world struct {
	*testenv.Env
	theirs   *fakeaws.Account
	role     string
	sessions *identity.Sessions
	// reconciler is the last started reconciler.
	reconciler *Reconciler
	// asksRoles makes the probe check the trust policies of the roles, too.
	asksRoles bool
}

func newWorld(t testing.TB) *world {
	w := &world{Env: testenv.New(t, testenv.WithScheme(scheme), testenv.WithKinds(&hyperv1.HostedControlPlaneList{}), testenv.WithStatus(&hyperv1.HostedControlPlane{}))}
	w.theirs = w.AWS.Account(customer)
	w.TrustIssuer(w.theirs)
	w.role = w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	w.Create(testenv.SigningKeySecret(), &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"},
		Spec: hyperv1.HostedControlPlaneSpec{IssuerURL: issuer, Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
			Region: region, RolesRef: hyperv1.AWSRolesRef{ControlPlaneOperatorARN: hyperv1.RoleARN(w.role)},
		}}},
	})
	return w
}

// start makes the probe anew and returns one pass of it.
func (w *world) start() func(context.Context) error {
	var signer *tokensigner.Signer
	signer, w.sessions = w.Sessions()
	opts := Options{Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Client()), Clock: w.Clock, Sessions: w.sessions, KeyReady: signer.Ready, Interval: interval}
	if w.asksRoles {
		opts.TakeRole = w.takeRole(signer)
	}
	w.reconciler = newReconciler(opts)
	r := w.reconciler.controller()
	return func(ctx context.Context) error {
		list := &hyperv1.HostedControlPlaneList{}
		w.Must(w.Admin().List(ctx, list))
		for i := range list.Items {
			result, err := r.ReconcileObject(ctx, &list.Items[i])
			if w.RecordResult(result, err) != nil || result.RequeueAfter == 0 {
				return fmt.Errorf("the probe has stopped: %+v, %w", result, err)
			}
		}
		return nil
	}
}

func (w *world) wants(status metav1.ConditionStatus, reason string, words ...string) {
	w.T.Helper()
	hcp := w.hcp()
	w.Must(w.Admin().Get(w.T.Context(), client.ObjectKeyFromObject(hcp), hcp))
	c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider)
	if c == nil || c.Status != status || c.Reason != reason {
		w.T.Errorf("got %+v, want %s %s", c, status, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			w.T.Errorf("the message does not say %q: %q", word, c.Message)
		}
	}
}

func (w *world) message() string {
	w.T.Helper()
	hcp := w.hcp()
	w.Must(w.Admin().Get(w.T.Context(), client.ObjectKeyFromObject(hcp), hcp))
	return ptr.Deref(meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider), metav1.Condition{}).Message
}

func (w *world) hcp() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}}
}

func (w *world) change(how func(*hyperv1.HostedControlPlane)) {
	w.T.Helper()
	hcp := w.hcp()
	w.Must(w.Admin().Get(w.T.Context(), client.ObjectKeyFromObject(hcp), hcp))
	how(hcp)
	w.Must(w.Admin().Update(w.T.Context(), hcp))
}

func (w *world) story() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster: w.Cluster, Cloud: w.AWS.Snapshot, Start: w.start,
		// Of the passes without a write, one finds an answer of AWS that counts and the next one calls again: with the trial's own small
		// steps the first answer would count to the end.
		Advance: func(time.Duration) { w.Clock.Step(interval * 2 / 3) },
		Ready: func(ctx context.Context) string {
			hcp := w.hcp()
			w.Must(w.Admin().Get(ctx, client.ObjectKeyFromObject(hcp), hcp))
			if !meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider) {
				return fmt.Sprint(hcp.Status.Conditions)
			}
			return ""
		},
		Delete: func(ctx context.Context) error { return w.Admin().Delete(ctx, w.hcp()) },
	}
}

func (w *world) target() identity.Target {
	return identity.Target{Region: region, IssuerURL: issuer, RoleARN: w.role}
}

func TestWhatAWSSays(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(*world)
		status metav1.ConditionStatus
		reason string
		words  []string
	}{
		"it knows us":             {func(*world) {}, metav1.ConditionTrue, hyperv1.AsExpectedReason, nil},
		"it knows no such issuer": {func(w *world) { w.theirs.RemoveIdentityProvider(issuer) }, metav1.ConditionFalse, hyperv1.InvalidIdentityProviderReason, []string{issuer}},
		"the role does not trust us": {func(w *world) {
			w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer, Subjects: []string{"somebody else"}}}})
		}, metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason, []string{"AccessDenied"}},
		"there is no such role": {func(w *world) { w.theirs.RemoveRole("demo-cpo") }, metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason, nil},
		"it throttles":          {func(w *world) { w.fault(fakeaws.Throttled) }, metav1.ConditionUnknown, "AWSThrottled", nil},
		"it does not answer":    {func(w *world) { w.fault(fakeaws.Reset) }, metav1.ConditionUnknown, "AWSUnavailable", nil},
		"it fails inside":       {func(w *world) { w.fault(fakeaws.ServerError) }, metav1.ConditionUnknown, "AWSUnavailable", nil},
		"we have no key yet":    {func(w *world) { w.Must(w.Admin().Delete(t.Context(), testenv.SigningKeySecret())) }, metav1.ConditionUnknown, hyperv1.WaitingForSigningKeyReason, []string{names.ServiceAccountSigningKey}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.spoil(w)
			pass := w.start()
			w.Must(pass(t.Context()))
			w.wants(c.status, c.reason, c.words...)
			first := w.message()
			if strings.Contains(first, "attempts") || strings.Contains(first, "RequestID") {
				t.Errorf("the message differs between two attempts: %q", first)
			}
			// The second pass reports the records of the sessions.
			w.Clock.Step(time.Second)
			w.Must(pass(t.Context()))
			w.wants(c.status, c.reason, c.words...)
			if again := w.message(); again != first {
				t.Errorf("the message was %q and is %q", first, again)
			}
		})
	}
}

func (w *world) fault(k fakeaws.Kind) {
	w.AWS.Fault(fakeaws.Fault{Service: fakeaws.STS, Kind: k, Times: fakeaws.Forever})
}

// A missing answer is no evidence: a True condition stays True, and AWS is called again soon.
func TestSilenceIsNotNo(t *testing.T) {
	w := newWorld(t)
	pass := w.start()
	w.Must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)

	w.Clock.Step(2 * interval)
	heal := w.AWS.Fault(fakeaws.Fault{Service: fakeaws.STS, Kind: fakeaws.Reset, Times: fakeaws.Forever})
	w.Must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	heal()

	w.theirs.RemoveRole("demo-cpo")
	pass = w.start()
	w.Must(pass(t.Context()))
	w.wants(metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason)

	w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	w.Clock.Step(time.Minute)
	w.Must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

// Whoever calls AWS tells the probe, which then need not call itself.
func TestTheCallsOfOthersCount(t *testing.T) {
	w := newWorld(t)
	pass := w.start()
	s, err := w.sessions.For(t.Context(), w.target())
	w.Must(err)
	w.AWS.Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Denied, Times: fakeaws.Forever})
	if _, err := awsx.EC2(s.Config).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{}); err == nil {
		t.Fatal("this call was meant to be denied")
	}
	w.AWS.ForgetCalls()
	for range 10 {
		w.Must(pass(t.Context()))
		w.Clock.Step(2 * time.Minute)
	}
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason) // a denied role is known to AWS
	if calls := w.AWS.Calls(); len(calls) > 0 {
		t.Errorf("the probe called by itself: %v", fakeaws.Count(calls))
	}
	w.Clock.Step(interval)
	w.Must(pass(t.Context()))
	if got := fakeaws.Count(w.AWS.Calls()); len(got) != 1 || got["sts:GetCallerIdentity"] != 1 {
		t.Errorf("after %s of silence: %v", interval, got)
	}
}

// A private cluster's endpoint needs calls anyway: the first of them answers the probe, which makes its own call only without another
// caller.
func TestTheFirstCallIsLeftToOthers(t *testing.T) {
	begin := func(t *testing.T) (*world, func(context.Context) error) {
		w := newWorld(t)
		w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
		pass := w.start()
		w.Must(pass(t.Context()))
		if calls := w.AWS.Calls(); len(calls) > 0 {
			t.Errorf("the probe called first: %v", fakeaws.Count(calls))
		}
		w.wants(metav1.ConditionUnknown, hyperv1.StatusUnknownReason)
		return w, pass
	}
	t.Run("and they make it", func(t *testing.T) {
		w, pass := begin(t)
		s, err := w.sessions.For(t.Context(), w.target())
		w.Must(err)
		_, err = awsx.EC2(s.Config).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
		w.Must(err)
		w.Clock.Step(firstCallInterval)
		w.Must(pass(t.Context()))
		w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
		if n := fakeaws.Count(w.AWS.Calls())["sts:GetCallerIdentity"]; n > 0 {
			t.Errorf("the probe called %d times", n)
		}
	})
	t.Run("and they do not make it", func(t *testing.T) {
		w, pass := begin(t)
		w.Clock.Step(firstCallTimeout)
		w.Must(pass(t.Context()))
		w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	})
	t.Run("and the cluster is being deleted", func(t *testing.T) {
		w, pass := begin(t)
		w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Finalizers = []string{"example.com/somebody"} })
		w.Must(w.Admin().Delete(t.Context(), w.hcp()))
		w.Must(pass(t.Context()))
		w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
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
			w := newWorld(t)
			pass := w.start()
			s, err := w.sessions.For(t.Context(), w.target())
			w.Must(err)
			call := func() error {
				_, err := awsx.EC2(s.Config).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
				return err
			}
			w.Must(call())
			w.Must(pass(t.Context()))
			w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)

			w.theirs.RemoveRole("demo-cpo")
			end(w.theirs, "demo-cpo")
			w.Clock.Step(awsx.RefusedCredentialsAge)
			for range 2 { // the first call is refused, the second one takes a new session
				w.Clock.Step(time.Second)
				if err := call(); err == nil {
					t.Fatal("a session of a deleted role works")
				}
				w.Must(pass(t.Context()))
			}
			w.wants(metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason, "AssumeRoleWithWebIdentity", "AccessDenied")
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
			worlds := map[*crashtest.Cluster]*world{}
			begin := func(t testing.TB) *crashtest.Scenario {
				w := newWorld(t)
				worlds[w.Cluster] = w
				return w.story()
			}
			inject := func(s *crashtest.Scenario) { worlds[s.Cluster].AWS.Fault(f) }
			crashtest.FaultTolerance(t, begin, inject)
			crashtest.NoLeaksWith(t, begin, inject)
		})
	}
}

func TestTrial(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario { return newWorld(t).story() }
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, begin) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, begin) })
}

func TestTrialUnderAPIFaults(t *testing.T) {
	crashtest.APIFaults(t, func(t testing.TB) *crashtest.Scenario { return newWorld(t).story() })
}

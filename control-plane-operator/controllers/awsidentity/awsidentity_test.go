package awsidentity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go/middleware"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const (
	region    = "us-east-1"
	customer  = "222222222222"
	namespace = "clusters-demo"
	issuer    = "https://issuer.example.com/demo"
	interval  = 30 * time.Minute
)

func init() { ctrl.SetLogger(logr.Discard()) }

// scheme has what these stories are about and no more: the fake API server goes
// through all of it for every write.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}()

var signingKey, publicKey = func() ([]byte, []byte) {
	private, public, err := webidentity.GenerateKey()
	utilruntime.Must(err)
	return private, public
}()

type world struct {
	*crashtest.Cluster
	t        testing.TB
	clock    *clocktesting.FakeClock
	cloud    *fakeaws.Cloud
	theirs   *fakeaws.Account
	role     string
	sessions *identity.Sessions
	// reconciler is the last one that was started.
	reconciler *Reconciler
	// asksRoles makes the probe check the trust policies of the roles, too.
	asksRoles bool
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme: scheme, Kinds: []client.ObjectList{&hyperv1.HostedControlPlaneList{}}, WithStatus: []client.Object{&hyperv1.HostedControlPlane{}},
	})
	w.cloud = fakeaws.New(w.clock).FailOn(t)
	w.theirs = w.cloud.Account(customer)
	keys, err := webidentity.JWKS(publicKey)
	w.must(err)
	w.theirs.AddIdentityProvider(fakeaws.IdentityProvider{Issuer: issuer, Audiences: []string{names.WebIdentityAudience}, JWKS: keys})
	w.role = w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	w.Create(t, w.secret(), &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"},
		Spec: hyperv1.HostedControlPlaneSpec{IssuerURL: issuer, Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
			Region: region, RolesRef: hyperv1.AWSRolesRef{ControlPlaneOperatorARN: hyperv1.RoleARN(w.role)},
		}}},
	})
	return w
}

func (w *world) secret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.ServiceAccountSigningKey},
		Data:       map[string][]byte{names.ServiceAccountPrivateKeyFile: signingKey},
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// start makes the probe anew and returns one pass of it.
func (w *world) start() func(context.Context) error {
	signer := &tokensigner.Signer{Client: w.Client(), Namespace: namespace, Clock: w.clock}
	w.sessions = identity.New(identity.Options{
		Name: "control-plane-operator", Token: signer.Token, Subject: names.ControlPlaneOperatorSubject, Clock: w.clock,
		Middleware: []func(*middleware.Stack) error{w.cloud.Install, fakeaws.NoBackoff, w.Calls.Middleware},
	})
	opts := Options{Client: w.Client(), Reader: w.Client(), Clock: w.clock, Sessions: w.sessions, KeyReady: signer.Ready, Interval: interval}
	if w.asksRoles {
		opts.TakeRole = w.takeRole(signer)
	}
	w.reconciler = newReconciler(opts)
	r := w.reconciler.controller()
	return func(ctx context.Context) error {
		list := &hyperv1.HostedControlPlaneList{}
		w.must(w.Admin().List(ctx, list))
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
	w.t.Helper()
	hcp := w.hcp()
	w.must(w.Admin().Get(w.t.Context(), client.ObjectKeyFromObject(hcp), hcp))
	c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider)
	if c == nil || c.Status != status || c.Reason != reason {
		w.t.Errorf("got %+v, want %s %s", c, status, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			w.t.Errorf("the message does not say %q: %q", word, c.Message)
		}
	}
}

func (w *world) hcp() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}}
}

func (w *world) change(how func(*hyperv1.HostedControlPlane)) {
	w.t.Helper()
	hcp := w.hcp()
	w.must(w.Admin().Get(w.t.Context(), client.ObjectKeyFromObject(hcp), hcp))
	how(hcp)
	w.must(w.Admin().Update(w.t.Context(), hcp))
}

func (w *world) story() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster: w.Cluster, Cloud: w.cloud.Snapshot, Start: w.start,
		// Of the passes that have to be silent, one finds an answer of AWS that
		// counts and the next one asks again: with the trial's own small steps the
		// first answer would count to the end.
		Advance: func(time.Duration) { w.clock.Step(interval * 2 / 3) },
		Ready: func(ctx context.Context) string {
			hcp := w.hcp()
			w.must(w.Admin().Get(ctx, client.ObjectKeyFromObject(hcp), hcp))
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
		"we have no key yet":    {func(w *world) { w.must(w.Admin().Delete(t.Context(), w.secret())) }, metav1.ConditionUnknown, hyperv1.WaitingForSigningKeyReason, []string{names.ServiceAccountSigningKey}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.spoil(w)
			w.must(w.start()(t.Context()))
			w.wants(c.status, c.reason, c.words...)
		})
	}
}

func (w *world) fault(k fakeaws.Kind) {
	w.cloud.Fault(fakeaws.Fault{Service: fakeaws.STS, Kind: k, Times: fakeaws.Forever})
}

// That nobody answers says nothing: what was True stays so, and what AWS said
// is asked again soon.
func TestSilenceIsNotNo(t *testing.T) {
	w := newWorld(t)
	pass := w.start()
	w.must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)

	w.clock.Step(2 * interval)
	heal := w.cloud.Fault(fakeaws.Fault{Service: fakeaws.STS, Kind: fakeaws.Reset, Times: fakeaws.Forever})
	w.must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	heal()

	w.theirs.RemoveRole("demo-cpo")
	pass = w.start()
	w.must(pass(t.Context()))
	w.wants(metav1.ConditionFalse, hyperv1.InvalidIAMRoleReason)

	w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	w.clock.Step(time.Minute)
	w.must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

// Whoever calls AWS tells the probe, which then need not call itself.
func TestTheCallsOfOthersCount(t *testing.T) {
	w := newWorld(t)
	pass := w.start()
	s, err := w.sessions.For(t.Context(), w.target())
	w.must(err)
	w.cloud.Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Denied, Times: fakeaws.Forever})
	if _, err := awsx.EC2(s.Config).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{}); err == nil {
		t.Fatal("this call was meant to be denied")
	}
	w.cloud.ForgetCalls()
	for range 10 {
		w.must(pass(t.Context()))
		w.clock.Step(2 * time.Minute)
	}
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason) // who is denied is known
	if calls := w.cloud.Calls(); len(calls) > 0 {
		t.Errorf("the probe called by itself: %v", fakeaws.Count(calls))
	}
	w.clock.Step(interval)
	w.must(pass(t.Context()))
	if got := fakeaws.Count(w.cloud.Calls()); len(got) != 1 || got["sts:GetCallerIdentity"] != 1 {
		t.Errorf("after %s of silence: %v", interval, got)
	}
}

// A private cluster's endpoint needs calls anyway: the first of them answers
// the probe, which asks for itself only when nobody else does.
func TestTheFirstCallIsLeftToOthers(t *testing.T) {
	begin := func(t *testing.T) (*world, func(context.Context) error) {
		w := newWorld(t)
		w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
		pass := w.start()
		w.must(pass(t.Context()))
		if calls := w.cloud.Calls(); len(calls) > 0 {
			t.Errorf("the probe called first: %v", fakeaws.Count(calls))
		}
		w.wants(metav1.ConditionUnknown, hyperv1.StatusUnknownReason)
		return w, pass
	}
	t.Run("and they make it", func(t *testing.T) {
		w, pass := begin(t)
		s, err := w.sessions.For(t.Context(), w.target())
		w.must(err)
		_, err = awsx.EC2(s.Config).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
		w.must(err)
		w.clock.Step(firstCallInterval)
		w.must(pass(t.Context()))
		w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
		if n := fakeaws.Count(w.cloud.Calls())["sts:GetCallerIdentity"]; n > 0 {
			t.Errorf("the probe called %d times", n)
		}
	})
	t.Run("and they do not make it", func(t *testing.T) {
		w, pass := begin(t)
		w.clock.Step(firstCallTimeout)
		w.must(pass(t.Context()))
		w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	})
	t.Run("and the cluster is being deleted", func(t *testing.T) {
		w, pass := begin(t)
		w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Finalizers = []string{"example.com/somebody"} })
		w.must(w.Admin().Delete(t.Context(), w.hcp()))
		w.must(pass(t.Context()))
		w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	})
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
			inject := func(s *crashtest.Scenario) { worlds[s.Cluster].cloud.Fault(f) }
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

package workersecuritygroup

import (
	"context"
	"fmt"
	"slices"
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
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
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
	resync    = 30 * time.Minute
)

func init() { ctrl.SetLogger(logr.Discard()) }

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}()

// signingKey is made once: a key takes longer than a whole scenario.
var signingKey, publicKey = func() ([]byte, []byte) {
	private, public, err := webidentity.GenerateKey()
	utilruntime.Must(err)
	return private, public
}()

// testEnv is a control plane and the account of its customer.
type testEnv struct {
	*crashtest.Cluster
	t        testing.TB
	cloud    *fakeaws.Cloud
	clock    *clocktesting.FakeClock
	theirs   *fakeaws.Account
	vpc      string
	eventLog eventLog

	reconciler *Controller
	sessions   *identity.Sessions
	// next is when the controller wants to come back.
	next time.Duration
}

func newTestEnv(t testing.TB) *testEnv {
	w := &testEnv{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme: scheme, Kinds: []client.ObjectList{&hyperv1.HostedControlPlaneList{}}, WithStatus: []client.Object{&hyperv1.HostedControlPlane{}},
	})
	w.cloud = fakeaws.New(w.clock).FailOn(t)
	w.theirs = w.cloud.Account(customer)
	keys, err := webidentity.JWKS(publicKey)
	w.must(err)
	w.theirs.AddIdentityProvider(fakeaws.IdentityProvider{Issuer: issuer, Audiences: []string{names.WebIdentityAudience}, JWKS: keys})
	role := w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{
		Issuer: issuer, Subjects: []string{names.ControlPlaneOperatorSubject}, Audiences: []string{names.WebIdentityAudience},
	}}})
	w.vpc = w.theirs.AddVPC(region, fakeaws.VPC{})
	w.Create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.ServiceAccountSigningKey},
		Data:       map[string][]byte{names.ServiceAccountPrivateKeyFile: signingKey},
	}, &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"},
		Spec: hyperv1.HostedControlPlaneSpec{
			InfraID: "demo-x", IssuerURL: issuer,
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
				Region: region, EndpointAccess: hyperv1.Public,
				CloudProviderConfig: &hyperv1.AWSCloudProviderConfig{VPC: w.vpc},
				RolesRef:            hyperv1.AWSRolesRef{ControlPlaneOperatorARN: hyperv1.RoleARN(role)},
				ResourceTags:        []hyperv1.AWSResourceTag{{Key: "team", Value: "blue"}},
			}},
			Networking: hyperv1.ClusterNetworking{MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}}},
		},
	})
	w.start()
	return w
}

func (w *testEnv) start() func(context.Context) error {
	signer := &tokensigner.Signer{Client: w.Client(), Namespace: namespace, Clock: w.clock}
	w.sessions = identity.New(identity.Options{
		Name: "control-plane-operator", Token: signer.Token, Subject: names.ControlPlaneOperatorSubject, Clock: w.clock,
		Middleware: []func(*middleware.Stack) error{w.cloud.Install, fakeaws.NoBackoff, w.Calls.Middleware},
	})
	w.reconciler = New(Options{Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Client()), Recorder: &w.eventLog, Clock: w.clock, Sessions: w.sessions, KeyReady: signer.Ready, ResyncPeriod: resync})
	return w.pass
}

func (w *testEnv) pass(ctx context.Context) error {
	hcp := w.hcp(ctx)
	if hcp == nil {
		return nil
	}
	result, err := w.reconciler.ReconcileObject(ctx, hcp)
	w.next = result.RequeueAfter
	return w.RecordResult(result, err)
}

// runPasses runs n reconciles, each when it was requeued.
func (w *testEnv) runPasses(passes int) {
	w.t.Helper()
	for range passes {
		w.clock.Step(w.next)
		_ = w.pass(w.t.Context())
		w.must(w.CollectGarbage(w.t.Context()))
	}
}

func (w *testEnv) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{}
	if err := w.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp); err != nil {
		w.must(client.IgnoreNotFound(err))
		return nil
	}
	return hcp
}

func (w *testEnv) change(how func(*hyperv1.HostedControlPlane)) {
	w.t.Helper()
	hcp := w.hcp(w.t.Context())
	how(hcp)
	w.must(w.Admin().Update(w.t.Context(), hcp))
}

func (w *testEnv) delete(ctx context.Context) error {
	return w.Admin().Delete(ctx, &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}})
}

// conditionLine returns a condition in one line.
func (w *testEnv) conditionLine(condition string) string {
	c := meta.FindStatusCondition(w.hcp(w.t.Context()).Status.Conditions, condition)
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (w *testEnv) want(condition, line string) {
	w.t.Helper()
	if got := w.conditionLine(condition); got != line {
		w.t.Errorf("%s:\n got %s\nwant %s", condition, got, line)
	}
}

// published is the id in the status.
func (w *testEnv) published() string {
	return (&scope{hcp: w.hcp(w.t.Context())}).published()
}

// group is what AWS has of the group, one line for each rule, or nothing.
func (w *testEnv) group() []string {
	var out []string
	for _, line := range strings.Split(w.cloud.Snapshot(), "\n") {
		if strings.Contains(line, "demo-x-default-sg") {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// calls counts the calls of the controller since the last time, by action.
func (w *testEnv) calls() (total int, what map[string]int) {
	what = map[string]int{}
	for _, c := range w.cloud.Calls() {
		if c.Role != "admin" {
			what[c.Action()]++
			total++
		}
	}
	w.cloud.ForgetCalls()
	return total, what
}

// customerEC2 is a client of others: its calls are not the controller's.
func (w *testEnv) customerEC2() *ec2.Client { return awsx.EC2(w.theirs.Config(region, "admin")) }

func (w *testEnv) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// try takes what an SDK call returns and fails the test if it is an error.
func (w *testEnv) try(_ any, err error) {
	w.t.Helper()
	w.must(err)
}

// eventLog keeps the events.
type eventLog struct{ lines []string }

func (d *eventLog) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	d.lines = append(d.lines, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

// otherController is the Manager of another controller of the cluster.
func (w *testEnv) otherController() *securitygroup.Manager {
	record := w.hcp(w.t.Context()).Status.WorkerSecurityGroup
	s, err := w.sessions.For(w.t.Context(), identity.Target{Region: record.Region, IssuerURL: record.IssuerURL, RoleARN: record.RoleARN})
	w.must(err)
	return securitygroup.Shared(s, w.clock, string(w.hcp(w.t.Context()).UID), record.VPC)
}

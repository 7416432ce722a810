package workersecuritygroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/names"
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

var scheme = testenv.Scheme()

// testEnv is a control plane and the account of its customer.
type testEnv struct {
	*testenv.Env
	theirs   *fakeaws.Account
	vpc      string
	eventLog eventLog

	reconciler *Controller
	sessions   *identity.Sessions
	// next is when the controller wants to come back.
	next time.Duration
}

func newTestEnv(t testing.TB) *testEnv {
	w := &testEnv{Env: testenv.New(t, testenv.WithScheme(scheme), testenv.WithKinds(&hyperv1.HostedControlPlaneList{}), testenv.WithStatus(&hyperv1.HostedControlPlane{}))}
	w.theirs = w.AWS.Account(customer)
	w.TrustIssuer(w.theirs)
	role := w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{
		Issuer: issuer, Subjects: []string{names.ControlPlaneOperatorSubject}, Audiences: []string{names.WebIdentityAudience},
	}}})
	w.vpc = w.theirs.AddVPC(region, fakeaws.VPC{})
	w.Create(testenv.SigningKeySecret(), &hyperv1.HostedControlPlane{
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
	signer, sessions := w.Sessions()
	w.sessions = sessions
	w.reconciler = New(Options{Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Client()), Recorder: &w.eventLog, Clock: w.Clock, Sessions: sessions, KeyReady: signer.Ready, ResyncPeriod: resync})
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
	w.T.Helper()
	for range passes {
		w.Clock.Step(w.next)
		_ = w.pass(w.T.Context())
		w.Must(w.CollectGarbage(w.T.Context()))
	}
}

func (w *testEnv) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{}
	if err := w.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp); err != nil {
		w.Must(client.IgnoreNotFound(err))
		return nil
	}
	return hcp
}

func (w *testEnv) change(how func(*hyperv1.HostedControlPlane)) {
	w.T.Helper()
	hcp := w.hcp(w.T.Context())
	how(hcp)
	w.Must(w.Admin().Update(w.T.Context(), hcp))
}

func (w *testEnv) delete(ctx context.Context) error {
	return w.Admin().Delete(ctx, &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}})
}

// conditionLine returns a condition in one line.
func (w *testEnv) conditionLine(condition string) string {
	c := meta.FindStatusCondition(w.hcp(w.T.Context()).Status.Conditions, condition)
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (w *testEnv) want(condition, line string) {
	w.T.Helper()
	if got := w.conditionLine(condition); got != line {
		w.T.Errorf("%s:\n got %s\nwant %s", condition, got, line)
	}
}

// published is the id in the status.
func (w *testEnv) published() string {
	return (&scope{hcp: w.hcp(w.T.Context())}).published()
}

// group returns the group in AWS, one line for each rule, or nil.
func (w *testEnv) group() []string {
	var out []string
	for _, line := range strings.Split(w.AWS.Snapshot(), "\n") {
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
	for _, c := range w.AWS.Calls() {
		if c.Role != "admin" {
			what[c.Action()]++
			total++
		}
	}
	w.AWS.ForgetCalls()
	return total, what
}

// customerEC2 is a client of others: its calls are not the controller's.
func (w *testEnv) customerEC2() *ec2.Client { return awsx.EC2(w.theirs.Config(region, "admin")) }

// try takes the results of an SDK call and fails the test on an error.
func (w *testEnv) try(_ any, err error) {
	w.T.Helper()
	w.Must(err)
}

// eventLog keeps the events.
type eventLog struct{ lines []string }

func (d *eventLog) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	d.lines = append(d.lines, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

// otherController is the Manager of another controller of the cluster.
func (w *testEnv) otherController() *securitygroup.Manager {
	record := w.hcp(w.T.Context()).Status.WorkerSecurityGroup
	s, err := w.sessions.For(w.T.Context(), identity.Target{Region: record.Region, IssuerURL: record.IssuerURL, RoleARN: record.RoleARN})
	w.Must(err)
	return securitygroup.Shared(s, w.Clock, string(w.hcp(w.T.Context()).UID), record.VPC)
}

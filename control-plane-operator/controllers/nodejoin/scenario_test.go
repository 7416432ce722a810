package nodejoin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// testEnv is a control plane, its machines, and the account of its customer.
type testEnv struct {
	*testenv.Env
	theirs  *fakeaws.Account
	role    string
	refused map[string]string

	controller *Controller
	// next is when the controller wants to come back.
	next time.Duration
}

func newTestEnv(t testing.TB) *testEnv {
	w := &testEnv{Env: testenv.New(t, testenv.WithScheme(testenv.Scheme(clusterv1.AddToScheme)), testenv.WithKinds(&hyperv1.HostedControlPlaneList{}, &clusterv1.MachineList{}), testenv.WithStatus(&hyperv1.HostedControlPlane{}, &clusterv1.Machine{})), refused: map[string]string{}}
	w.theirs = w.AWS.Account(testenv.Customer)
	w.TrustIssuer(w.theirs)
	w.role = w.theirs.AddRole(fakeaws.Role{Name: "demo-node-pool", Trusts: []fakeaws.Trust{{
		Issuer: testenv.Issuer, Subjects: []string{names.CAPIProviderSubject}, Audiences: []string{names.WebIdentityAudience},
	}}})
	w.Create(testenv.SigningKeySecret(), &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: "demo"},
		Spec: hyperv1.HostedControlPlaneSpec{IssuerURL: testenv.Issuer, Platform: hyperv1.PlatformSpec{
			Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{Region: testenv.Region, RolesRef: hyperv1.AWSRolesRef{NodePoolManagementARN: hyperv1.RoleARN(w.role)}},
		}},
	})
	w.start()
	return w
}

// start is the controller, as a process that has just started.
func (w *testEnv) start() func(context.Context) error {
	signer, sessions := w.Sessions()
	w.controller = New(Options{
		Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Client()), Clock: w.Clock, KeyReady: signer.Ready,
		Refused: func(machine string) string { return w.refused[machine] },
		Instances: func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (instance.API, error) {
			session, err := sessions.For(ctx, identity.Target{Region: testenv.Region, IssuerURL: testenv.Issuer, RoleARN: w.role, Subject: names.CAPIProviderSubject})
			if err != nil {
				return nil, err
			}
			return awsx.EC2(session.Config), nil
		},
	})
	return w.pass
}

func (w *testEnv) pass(ctx context.Context) error {
	hcp := w.hcp(ctx)
	if hcp == nil {
		return nil
	}
	result, err := w.controller.ReconcileObject(ctx, hcp)
	w.next = result.RequeueAfter
	return w.RecordResult(result, err)
}

// after lets time pass, and reconciles whenever the controller requested it.
func (w *testEnv) after(d time.Duration) {
	w.T.Helper()
	for d >= 0 {
		w.Must(w.pass(w.T.Context()))
		step := d + 1
		if w.next > 0 && w.next < step {
			step = w.next
		}
		w.Clock.Step(step)
		d -= step
	}
}

func (w *testEnv) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{}
	if err := w.Admin().Get(ctx, client.ObjectKey{Namespace: testenv.Namespace, Name: "demo"}, hcp); err != nil {
		w.Must(client.IgnoreNotFound(err))
		return nil
	}
	return hcp
}

// machine adds a machine with an instance that was started now.
func (w *testEnv) machine(name string, i fakeaws.Instance) {
	w.T.Helper()
	if i.ID = "i-" + name; i.State != "none" {
		w.theirs.SetInstance(testenv.Region, i)
	}
	w.Create(&clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: name, UID: apitypes.UID(name)},
		Spec:       clusterv1.MachineSpec{ProviderID: "aws:///us-east-1a/" + i.ID},
		Status: clusterv1.MachineStatus{Conditions: []metav1.Condition{{
			Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.NewTime(w.Clock.Now()),
		}}},
	})
}

func (w *testEnv) change(name string, how func(*clusterv1.Machine)) {
	w.T.Helper()
	m := &clusterv1.Machine{}
	w.Must(w.Admin().Get(w.T.Context(), client.ObjectKey{Namespace: testenv.Namespace, Name: name}, m))
	how(m)
	w.Must(w.Admin().Status().Update(w.T.Context(), m))
}

// status returns the findings, one in each line.
func (w *testEnv) status() string {
	var lines []string
	for _, m := range w.hcp(w.T.Context()).Status.MachinesWithoutNode {
		lines = append(lines, m.Name+" "+m.Reason+": "+m.Message)
	}
	return strings.Join(lines, "\n")
}

func (w *testEnv) want(status string) {
	w.T.Helper()
	if got := w.status(); got != status {
		w.T.Errorf("the status is\n%s\nwant\n%s", got, status)
	}
}

// calls counts the calls of EC2 since the last time, by operation.
func (w *testEnv) calls() string {
	count := map[string]int{}
	for _, c := range w.AWS.Calls() {
		if c.Service == fakeaws.EC2 {
			count[c.Operation]++
		}
	}
	w.AWS.ForgetCalls()
	var all []string
	for name, n := range count {
		all = append(all, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestNothingIsCalledWhileMachinesJoinInTime(t *testing.T) {
	w := newTestEnv(t)
	w.after(time.Hour)
	before := w.Calls.Writes() // the store of the status sets Available once
	w.machine("a", fakeaws.Instance{})
	w.after(2 * time.Minute)
	w.change("a", func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" })
	w.after(24 * time.Hour)
	if calls := w.calls(); calls != "" || len(w.AWS.Calls()) != 0 {
		t.Errorf("calls: %s", calls)
	}
	if writes := w.Calls.Writes() - before; writes != 0 {
		t.Errorf("%d writes", writes)
	}
	w.want("")
}

func TestCauses(t *testing.T) {
	for name, tc := range map[string]struct {
		instance fakeaws.Instance
		refused  string
		fault    *fakeaws.Fault
		want     string
	}{
		"the instance is gone":                       {instance: fakeaws.Instance{State: "none"}, want: "InstanceNotRunning: EC2 has no instance i-a"},
		"the instance is stopped":                    {instance: fakeaws.Instance{State: types.InstanceStateNameStopped, Console: "x"}, want: "InstanceNotRunning: the instance is stopped"},
		"the host is broken":                         {instance: fakeaws.Instance{System: types.SummaryStatusImpaired, Console: "x"}, want: "InstanceImpaired: the system status check of EC2 fails: the host of the instance has a problem"},
		"the system does not respond":                {instance: fakeaws.Instance{Status: types.SummaryStatusImpaired, Console: "Kernel panic"}, want: `InstanceImpaired: the instance status check of EC2 fails: the operating system does not respond. Its console ends with "Kernel panic"`},
		"it does not boot":                           {want: "InstanceNotBooted: the instance runs, and its console is empty"},
		"the checks have no result yet":              {instance: fakeaws.Instance{Status: types.SummaryStatusInitializing, System: types.SummaryStatusInitializing}, want: "InstanceNotBooted: the instance runs, and its console is empty"},
		"no programs":                                {instance: fakeaws.Instance{Console: "hypershift-node: reason=WrongDigest message=kubelet has sha256:00\nlogin:"}, want: `NodeProgramsUnavailable: the machine reports WrongDigest: "kubelet has sha256:00"`},
		"no way to the API server":                   {instance: fakeaws.Instance{Console: "hypershift-node: reason=APIServerUnreachable message=timeout\n"}, want: `APIServerUnreachable: the machine reports APIServerUnreachable: "timeout"`},
		"the token is refused":                       {instance: fakeaws.Instance{Console: "hypershift-node: reason=BootstrapTokenRefused message=401\n"}, want: `NodeRefused: the machine reports BootstrapTokenRefused: "401"`},
		"an unknown report":                          {instance: fakeaws.Instance{Console: "hypershift-node: reason=SomethingElse message=odd\n"}, want: `NodeNotJoined: the machine reports SomethingElse: "odd"`},
		"the request is refused":                     {instance: fakeaws.Instance{Console: "x"}, refused: "Machine a has a certificate for another key", want: "NodeRefused: its certificate request is not approved: Machine a has a certificate for another key"},
		"no report":                                  {instance: fakeaws.Instance{Console: "Debian GNU/Linux 12\r\nlogin:"}, want: `NodeNotJoined: the instance runs, and has not joined. Its console ends with "Debian GNU/Linux 12 | login:"`},
		"an instance type without the latest output": {instance: fakeaws.Instance{Old: true, Console: "login:"}, want: `NodeNotJoined: the instance runs, and has not joined. Its console ends with "login:"`},
		"no permission for the console": {
			instance: fakeaws.Instance{Console: "x"}, fault: &fakeaws.Fault{Operation: "GetConsoleOutput", Kind: fakeaws.Denied, Times: fakeaws.Forever},
			want: "NodeNotJoined: it has not joined, and its console cannot be read: ",
		},
		"no permission for the status": {
			instance: fakeaws.Instance{Console: "login:"}, fault: &fakeaws.Fault{Operation: "DescribeInstanceStatus", Kind: fakeaws.Denied, Times: fakeaws.Forever},
			want: `NodeNotJoined: the instance runs, and has not joined. Its console ends with "login:"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.machine("a", tc.instance)
			if tc.refused != "" {
				w.refused["a"] = tc.refused
			}
			if tc.fault != nil {
				w.AWS.Fault(*tc.fault)
			}
			w.after(lateAfter - time.Second)
			w.want("")
			w.after(time.Minute)
			if got := w.status(); got != "a "+tc.want && (tc.fault == nil || !strings.HasPrefix(got, "a "+tc.want)) {
				t.Errorf("got  %s\nwant a %s", got, tc.want)
			}
		})
	}
}

func TestFindingsEndWithTheirCause(t *testing.T) {
	w := newTestEnv(t)
	w.machine("a", fakeaws.Instance{})
	w.machine("b", fakeaws.Instance{})
	w.after(4 * time.Minute)
	w.want("a InstanceNotBooted: the instance runs, and its console is empty\nb InstanceNotBooted: the instance runs, and its console is empty")
	w.theirs.SetInstance(testenv.Region, fakeaws.Instance{ID: "i-a", Console: "login:"})
	w.change("b", func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" })
	w.after(0)
	w.want("a InstanceNotBooted: the instance runs, and its console is empty")
	w.after(interval)
	w.want(`a NodeNotJoined: the instance runs, and has not joined. Its console ends with "login:"`)
	w.Must(w.Admin().Delete(t.Context(), &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: "a"}}))
	w.after(0)
	w.want("")
}

// EC2 allows few calls of GetConsoleOutput in an account.
func TestCallsAreBounded(t *testing.T) {
	w := newTestEnv(t)
	for i := range 50 {
		w.machine(fmt.Sprintf("m%02d", i), fakeaws.Instance{Console: "login:"})
	}
	w.after(lateAfter + time.Second)
	if calls := w.calls(); calls != "DescribeInstanceStatus 1, GetConsoleOutput 10" {
		t.Errorf("first examination: %s", calls)
	}
	for range 20 { // other events
		w.Must(w.pass(t.Context()))
	}
	for range 12 {
		w.after(interval)
	}
	hour := w.calls()
	var status, console int
	if _, err := fmt.Sscanf(hour, "DescribeInstanceStatus %d, GetConsoleOutput %d", &status, &console); err != nil || console > 13*atOnce*5 {
		t.Errorf("in an hour: %s", hour)
	}
	if n := len(w.hcp(t.Context()).Status.MachinesWithoutNode); n != maxFindings {
		t.Errorf("the status has %d machines", n)
	}
}

func TestARestartedProcessKeepsFindingsWhileAWSDoesNotAnswer(t *testing.T) {
	w := newTestEnv(t)
	w.machine("a", fakeaws.Instance{})
	w.after(4 * time.Minute)
	found := w.status()
	w.AWS.Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: fakeaws.Forever})
	w.start()
	w.after(10 * time.Minute)
	w.want(found)
	if found == "" || w.next == 0 || w.next > retryAfter*2 {
		t.Errorf("found %q, next after %s", found, w.next)
	}
}

func TestNothingIsReportedOfAPausedCluster(t *testing.T) {
	w := newTestEnv(t)
	hcp := w.hcp(t.Context())
	until := hyperv1.PausedUntil("true")
	hcp.Spec.PausedUntil = &until
	w.Must(w.Admin().Update(t.Context(), hcp))
	w.machine("a", fakeaws.Instance{})
	w.after(time.Hour)
	if calls := w.calls(); calls != "" {
		t.Errorf("calls: %s", calls)
	}
}

func newScenario(t testing.TB) *crashtest.Scenario {
	w := newTestEnv(t)
	w.machine("a", fakeaws.Instance{Console: "login:"})
	return w.scenario()
}

func (w *testEnv) scenario() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster: w.Cluster, Cloud: w.AWS.Snapshot, Start: w.start, Advance: w.Clock.Step,
		Ready: func(context.Context) string {
			if w.status() == "" {
				return "a finding"
			}
			return ""
		},
		Delete: func(ctx context.Context) error {
			return errors.Join(w.Admin().Delete(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: "a"}}),
				w.Admin().Delete(ctx, &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: "demo"}}))
		},
	}
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, newScenario) })
	t.Run("faults", func(t *testing.T) {
		clouds := map[*crashtest.Cluster]*fakeaws.Cloud{}
		begin := func(t testing.TB) *crashtest.Scenario {
			w := newTestEnv(t)
			w.machine("a", fakeaws.Instance{Console: "login:"})
			clouds[w.Cluster] = w.AWS
			return w.scenario()
		}
		crashtest.FaultTolerance(t, begin, func(s *crashtest.Scenario) {
			clouds[s.Cluster].Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: 9})
		})
	})
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, newScenario) })
}

func TestTrimKeepsWhatTheControllerReads(t *testing.T) {
	w := newTestEnv(t)
	w.machine("a", fakeaws.Instance{})
	m := &clusterv1.Machine{}
	w.Must(w.Admin().Get(t.Context(), client.ObjectKey{Namespace: testenv.Namespace, Name: "a"}, m))
	trimmed, err := Trim(m.DeepCopy())
	w.Must(err)
	wantSince, wantStarted := startedAt(m)
	since, started := startedAt(trimmed.(*clusterv1.Machine))
	if since != wantSince || started != wantStarted || !started || trimmed.(*clusterv1.Machine).UID != m.UID {
		t.Errorf("%v, %v", since, started)
	}
}

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

// fakeMachines are a control plane, its machines, and the account of its customer.
type fakeMachines struct {
	*testenv.Env
	theirs  *fakeaws.Account
	role    string
	refused map[string]string
}

var scheme = testenv.Scheme(clusterv1.AddToScheme)

func newFakeMachines(t testing.TB) *fakeMachines {
	e := &fakeMachines{refused: map[string]string{}, Env: testenv.New(t, testenv.WithScheme(scheme),
		testenv.WithKinds(&hyperv1.HostedControlPlaneList{}, &clusterv1.MachineList{}),
		testenv.WithStatus(&hyperv1.HostedControlPlane{}, &clusterv1.Machine{}),
	)}
	e.theirs = e.AWS.Account(testenv.Customer)
	e.TrustIssuer(e.theirs)
	e.role = e.theirs.AddRole(testenv.TrustingRole("demo-node-pool", names.CAPIProviderSubject))
	e.Object = testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.RolesRef.NodePoolManagementARN = hyperv1.RoleARN(e.role)
	})
	e.Create(testenv.SigningKeySecret(), e.Object)
	e.Start = e.start
	e.Restart()
	return e
}

// start is the controller, as a process that has just started.
func (e *fakeMachines) start() testenv.Pass {
	signer, sessions := e.Sessions()
	controller := New(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Clock: e.Clock, KeyReady: signer.Ready,
		Refused: func(machine string) string { return e.refused[machine] },
		Instances: func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (instance.API, error) {
			session, err := sessions.For(ctx, identity.Target{Region: testenv.Region, IssuerURL: testenv.Issuer, RoleARN: e.role, Subject: names.CAPIProviderSubject})
			if err != nil {
				return nil, err
			}
			return awsx.EC2(session.Config), nil
		},
	})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, controller.ReconcileObject)
}

// machine adds a machine with an instance that was started now.
func (e *fakeMachines) machine(name string, i fakeaws.Instance) {
	e.T.Helper()
	if i.ID = "i-" + name; i.State != "none" {
		e.theirs.SetInstance(testenv.Region, i)
	}
	e.Create(&clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: name, UID: apitypes.UID(name)},
		Spec:       clusterv1.MachineSpec{ProviderID: "aws:///us-east-1a/" + i.ID},
		Status: clusterv1.MachineStatus{Conditions: []metav1.Condition{{
			Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.NewTime(e.Clock.Now()),
		}}},
	})
}

func (e *fakeMachines) change(name string, change func(*clusterv1.Machine)) {
	e.T.Helper()
	testenv.Change(e.Env, &clusterv1.Machine{ObjectMeta: testenv.In(testenv.Namespace, name)}, change)
}

// status returns the findings, one in each line.
func (e *fakeMachines) status() string {
	var lines []string
	for _, m := range e.HCP().Status.MachinesWithoutNode {
		lines = append(lines, m.Name+" "+m.Reason+": "+m.Message)
	}
	return strings.Join(lines, "\n")
}

func (e *fakeMachines) want(status string) {
	e.T.Helper()
	if got := e.status(); got != status {
		e.T.Errorf("the status is\n%s\nwant\n%s", got, status)
	}
}

// calls counts the calls of EC2 since the last time, by operation.
func (e *fakeMachines) calls() string {
	count := map[string]int{}
	for _, c := range e.AWS.Calls() {
		if c.Service == fakeaws.EC2 {
			count[c.Operation]++
		}
	}
	e.AWS.ForgetCalls()
	var all []string
	for name, n := range count {
		all = append(all, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestNothingIsCalledWhileMachinesJoinInTime(t *testing.T) {
	e := newFakeMachines(t)
	e.During(time.Hour)
	before := e.Calls.Writes() // the store of the status sets Available once
	e.machine("a", fakeaws.Instance{})
	e.During(2 * time.Minute)
	e.change("a", func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" })
	e.During(24 * time.Hour)
	if calls := e.calls(); calls != "" || len(e.AWS.Calls()) != 0 {
		t.Errorf("calls: %s", calls)
	}
	if writes := e.Calls.Writes() - before; writes != 0 {
		t.Errorf("%d writes", writes)
	}
	e.want("")
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
			e := newFakeMachines(t)
			e.machine("a", tc.instance)
			if tc.refused != "" {
				e.refused["a"] = tc.refused
			}
			if tc.fault != nil {
				e.AWS.Fault(*tc.fault)
			}
			e.During(lateAfter - time.Second)
			e.want("")
			e.During(time.Minute)
			if got := e.status(); got != "a "+tc.want && (tc.fault == nil || !strings.HasPrefix(got, "a "+tc.want)) {
				t.Errorf("got  %s\nwant a %s", got, tc.want)
			}
		})
	}
}

func TestFindingsEndWithTheirCause(t *testing.T) {
	e := newFakeMachines(t)
	e.machine("a", fakeaws.Instance{})
	e.machine("b", fakeaws.Instance{})
	e.During(4 * time.Minute)
	e.want("a InstanceNotBooted: the instance runs, and its console is empty\nb InstanceNotBooted: the instance runs, and its console is empty")
	e.theirs.SetInstance(testenv.Region, fakeaws.Instance{ID: "i-a", Console: "login:"})
	e.change("b", func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" })
	e.During(0)
	e.want("a InstanceNotBooted: the instance runs, and its console is empty")
	e.During(interval)
	e.want(`a NodeNotJoined: the instance runs, and has not joined. Its console ends with "login:"`)
	e.Must(e.Admin().Delete(t.Context(), &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: "a"}}))
	e.During(0)
	e.want("")
}

// EC2 allows few calls of GetConsoleOutput in an account.
func TestCallsAreBounded(t *testing.T) {
	e := newFakeMachines(t)
	for i := range 50 {
		e.machine(fmt.Sprintf("m%02d", i), fakeaws.Instance{Console: "login:"})
	}
	e.During(lateAfter + time.Second)
	if calls := e.calls(); calls != "DescribeInstanceStatus 1, GetConsoleOutput 10" {
		t.Errorf("first examination: %s", calls)
	}
	for range 20 { // other events
		e.Once()
	}
	for range 12 {
		e.During(interval)
	}
	hour := e.calls()
	var status, console int
	if _, err := fmt.Sscanf(hour, "DescribeInstanceStatus %d, GetConsoleOutput %d", &status, &console); err != nil || console > 13*atOnce*5 {
		t.Errorf("in an hour: %s", hour)
	}
	if n := len(e.HCP().Status.MachinesWithoutNode); n != maxFindings {
		t.Errorf("the status has %d machines", n)
	}
}

func TestARestartedProcessKeepsFindingsWhileAWSDoesNotAnswer(t *testing.T) {
	e := newFakeMachines(t)
	e.machine("a", fakeaws.Instance{})
	e.During(4 * time.Minute)
	found := e.status()
	e.AWS.Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: fakeaws.Forever})
	e.Restart()
	e.During(10 * time.Minute)
	e.want(found)
	if found == "" || e.RequeueAfter == 0 || e.RequeueAfter > retryAfter*2 {
		t.Errorf("found %q, next after %s", found, e.RequeueAfter)
	}
}

func TestNothingIsReportedOfAPausedCluster(t *testing.T) {
	e := newFakeMachines(t)
	hcp := e.HCP()
	until := hyperv1.PausedUntil("true")
	hcp.Spec.PausedUntil = &until
	e.Update(hcp)
	e.machine("a", fakeaws.Instance{})
	e.During(time.Hour)
	if calls := e.calls(); calls != "" {
		t.Errorf("calls: %s", calls)
	}
}

func newScenario(t testing.TB) *crashtest.Scenario {
	e := newFakeMachines(t)
	e.machine("a", fakeaws.Instance{Console: "login:"})
	return e.scenario()
}

func (e *fakeMachines) scenario() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster: e.Cluster, Cloud: e.AWS.Snapshot, Start: e.start, Advance: e.Clock.Step,
		Ready: func(context.Context) string {
			if e.status() == "" {
				return "a finding"
			}
			return ""
		},
		Delete: func(ctx context.Context) error {
			return errors.Join(e.Admin().Delete(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: "a"}}),
				e.Admin().Delete(ctx, &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: "demo"}}))
		},
	}
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, newScenario) })
	t.Run("faults", func(t *testing.T) {
		clouds := map[*crashtest.Cluster]*fakeaws.Cloud{}
		begin := func(t testing.TB) *crashtest.Scenario {
			e := newFakeMachines(t)
			e.machine("a", fakeaws.Instance{Console: "login:"})
			clouds[e.Cluster] = e.AWS
			return e.scenario()
		}
		crashtest.FaultTolerance(t, begin, func(s *crashtest.Scenario) {
			clouds[s.Cluster].Fault(fakeaws.Fault{Service: fakeaws.EC2, Kind: fakeaws.Throttled, Times: 9})
		})
	})
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, newScenario) })
}

func TestTrimKeepsWhatTheControllerReads(t *testing.T) {
	e := newFakeMachines(t)
	e.machine("a", fakeaws.Instance{})
	m := testenv.Named(e.Env, "a", &clusterv1.Machine{})
	trimmed, err := Trim(m.DeepCopy())
	e.Must(err)
	wantSince, wantStarted := startedAt(m)
	since, started := startedAt(trimmed.(*clusterv1.Machine))
	if since != wantSince || started != wantStarted || !started || trimmed.(*clusterv1.Machine).UID != m.UID {
		t.Errorf("%v, %v", since, started)
	}
}

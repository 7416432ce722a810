package nodepool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

func TestRepairDelayDoublesUpToALimit(t *testing.T) {
	for attempts, want := range map[int32]string{1: "20m", 2: "40m", 3: "1h20m", 5: "5h20m", 6: "8h", 1000: "8h"} {
		if got := words(repairDelay(20*time.Minute, attempts)); got != want {
			t.Errorf("after %d attempts %s, want %s", attempts, got, want)
		}
	}
	if got := words(repairDelay(12*time.Hour, 3)); got != "12h" {
		t.Errorf("a start that takes long is not awaited: %s", got)
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// aMachine is one of a pool, with the time since which its instance runs.
type aMachine struct {
	name    string
	age     time.Duration
	node    bool
	deleted bool
	// waiting is true for a machine without an instance, failed if the AWS provider has given it up.
	waiting, failed, skipped bool
}

func scopeOf(replicas int32, record *hyperv1.NodePoolRepairStatus, machines []aMachine) *scope {
	s := &scope{np: pool(), health: health{startup: 20 * time.Minute}}
	s.np.Spec.Replicas = ptr.To(replicas)
	s.np.Status.Repair = record
	for _, spec := range machines {
		born := metav1.NewTime(noon.Add(-spec.age))
		m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: spec.name, CreationTimestamp: born}}
		m.Spec.InfrastructureRef.Name = spec.name
		instance := infrav1.AWSMachine{ObjectMeta: metav1.ObjectMeta{Name: spec.name}}
		if !spec.waiting {
			instance.Spec.InstanceID = ptr.To("i-" + spec.name)
			m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionTrue, LastTransitionTime: born}}
		}
		if spec.failed {
			instance.Status.FailureReason = ptr.To("UpdateError")
		}
		if spec.node {
			m.Status.NodeRef.Name = spec.name
		}
		if spec.deleted {
			m.DeletionTimestamp = &born
		}
		if spec.skipped {
			m.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: ""}
		}
		s.machines, s.awsMachines = append(s.machines, m), append(s.awsMachines, instance)
	}
	return s
}

func TestPlanRepair(t *testing.T) {
	late := func(names ...string) (all []aMachine) {
		for _, name := range names {
			all = append(all, aMachine{name: name, age: 21 * time.Minute})
		}
		return all
	}
	record := func(attempts int32, ago time.Duration, machines ...string) *hyperv1.NodePoolRepairStatus {
		return &hyperv1.NodePoolRepairStatus{Attempts: attempts, LastTime: metav1.NewTime(noon.Add(-ago)), Machines: machines}
	}
	ten := late("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	for name, tc := range map[string]struct {
		replicas int32
		record   *hyperv1.NodePoolRepairStatus
		machines []aMachine
		replaced string
		attempts int32
		wait     time.Duration
	}{
		"machines that have joined stay":                   {replicas: 1, machines: []aMachine{{name: "a", age: time.Hour, node: true}}},
		"a machine gets time to start":                     {replicas: 1, machines: []aMachine{{name: "a", age: 19 * time.Minute}}, wait: time.Minute},
		"a late machine is replaced":                       {replicas: 1, machines: late("a"), replaced: "a", attempts: 1, wait: time.Minute},
		"a fifth of a pool is replaced at once":            {replicas: 10, machines: ten, replaced: "a b", attempts: 1, wait: time.Minute},
		"the oldest is replaced first":                     {replicas: 2, machines: append(late("a"), aMachine{name: "z", age: time.Hour}), replaced: "z", attempts: 1, wait: time.Minute},
		"no other one while a machine starts":              {replicas: 3, machines: append(late("a", "b"), aMachine{name: "c", age: time.Minute}), wait: time.Minute},
		"no other one while a machine is deleted":          {replicas: 3, machines: append(late("a", "b"), aMachine{name: "c", age: time.Hour, deleted: true}), wait: time.Minute},
		"the second replacement waits":                     {replicas: 2, record: record(1, 10*time.Minute, "old"), machines: late("a"), attempts: 1, wait: time.Minute},
		"the second replacement comes":                     {replicas: 2, record: record(1, 20*time.Minute, "old"), machines: late("a"), replaced: "a", attempts: 2, wait: time.Minute},
		"the third one waits twice as long":                {replicas: 2, record: record(2, 39*time.Minute, "old"), machines: late("a"), attempts: 2, wait: time.Minute},
		"the wait ends with the back-off":                  {replicas: 2, record: record(2, 39*time.Minute+30*time.Second, "old"), machines: late("a"), attempts: 2, wait: 30 * time.Second},
		"a recorded machine is deleted after a crash":      {replicas: 2, record: record(1, time.Second, "b"), machines: late("a", "b"), replaced: "b", attempts: 1, wait: time.Minute},
		"a later machine of the same name is another one":  {replicas: 2, record: record(1, 30*time.Minute, "b"), machines: late("a", "b"), replaced: "a", attempts: 2, wait: time.Minute},
		"a machine that joins ends the back-off":           {replicas: 3, record: record(5, 30*time.Minute, "old"), machines: append(late("a"), aMachine{name: "new", age: 29 * time.Minute, node: true}), replaced: "a", attempts: 1, wait: time.Minute},
		"a machine of the same second, too":                {replicas: 3, record: record(5, 30*time.Minute, "old"), machines: append(late("a"), aMachine{name: "new", age: 30 * time.Minute, node: true}), replaced: "a", attempts: 1, wait: time.Minute},
		"a machine that joined before does not":            {replicas: 3, record: record(5, 30*time.Minute, "old"), machines: append(late("a"), aMachine{name: "new", age: 31 * time.Minute, node: true}), attempts: 5, wait: time.Minute},
		"EC2 is asked again by its provider":               {replicas: 1, machines: []aMachine{{name: "a", age: time.Hour, waiting: true}}},
		"a machine that its provider has given up":         {replicas: 1, machines: []aMachine{{name: "a", age: time.Hour, waiting: true, failed: true}}, replaced: "a", attempts: 1, wait: time.Minute},
		"a machine that its user excludes from repair":     {replicas: 1, machines: []aMachine{{name: "a", age: time.Hour, skipped: true}}},
		"a large pool has a limit, too":                    {replicas: 100, machines: append(ten, late("k", "l")...), replaced: "a b c d e f g h i j", attempts: 1, wait: time.Minute},
		"the record of a pool that has recovered goes":     {replicas: 1, record: record(2, time.Hour, "old"), machines: []aMachine{{name: "new", age: time.Minute, node: true}}},
		"the record stays until a new machine has a node ": {replicas: 1, record: record(2, time.Hour, "old"), machines: []aMachine{{name: "new", age: time.Minute}}, attempts: 2, wait: 19 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s := scopeOf(tc.replicas, tc.record, tc.machines)
			plan := s.planRepair(noon)
			var replaced []string
			for _, m := range plan.replace {
				replaced = append(replaced, m.Name)
			}
			if got := strings.Join(replaced, " "); got != tc.replaced {
				t.Errorf("replaces %q, want %q", got, tc.replaced)
			}
			if got := ptr.Deref(plan.record, hyperv1.NodePoolRepairStatus{}).Attempts; got != tc.attempts {
				t.Errorf("%d attempts, want %d", got, tc.attempts)
			}
			if plan.wait != tc.wait {
				t.Errorf("waits %s, want %s", plan.wait, tc.wait)
			}
			if len(replaced) > 0 && !slices.Equal(plan.record.Machines, replaced) {
				t.Errorf("records %v", plan.record.Machines)
			}
		})
	}
}

func TestAMachineStartsWhenItsClusterIsReady(t *testing.T) {
	s := scopeOf(1, nil, []aMachine{{name: "a", age: time.Hour}})
	s.cluster = &clusterv1.Cluster{}
	s.cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute))}}
	if plan := s.planRepair(noon); len(plan.replace) > 0 {
		t.Errorf("a machine is replaced a minute after it could join")
	}
}

// brokenEnv is a pool whose machines run and do not join.
func brokenEnv(t testing.TB) *testEnv {
	w := newTestEnv(t)
	w.Create(t, capiCluster(metav1.ConditionTrue))
	w.capi.broken = true
	return w
}

func capiCluster(reached metav1.ConditionStatus) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: infraID},
		Status:     clusterv1.ClusterStatus{Conditions: []metav1.Condition{{Type: clusterv1.ClusterRemoteConnectionProbeCondition, Status: reached}}},
	}
}

// turns lets controller and Cluster API take turns for a time, one in each minute.
func (w *testEnv) turns(t testing.TB, minutes int) {
	t.Helper()
	pass := w.start()
	for range minutes {
		if err := pass(t.Context()); err != nil {
			t.Log(err)
		}
		if err := w.capi.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.clock.Step(time.Minute)
	}
}

// replaced counts the events for replaced machines.
func (w *testEnv) replaced() (n int) {
	for {
		select {
		case e := <-w.events.Events:
			if strings.Contains(e, "MachineReplaced") {
				n++
			}
		default:
			return n
		}
	}
}

func TestMachinesThatDoNotJoinAreReplacedWithBackoff(t *testing.T) {
	w := brokenEnv(t)
	w.turns(t, 20)
	if n := w.replaced(); n != 0 {
		t.Fatalf("%d machines are replaced in the first 20 minutes", n)
	}
	w.turns(t, 6*60)
	// A pool of two replaces one at a time: after 21, 41, 81, 161 and 321 minutes.
	if n := w.replaced(); n < 4 || n > 6 {
		t.Errorf("%d machines are replaced in six hours", n)
	}
	w.expect(t, map[string]string{hyperv1.NodePoolAutorepairEnabledCondition: "True RepairBackoff machines were replaced 5 times in a row, and the new ones did not become nodes: the next replacement follows 5h20m after the last"})

	// The cause is gone: the next machine joins, and ends the back-off for the other one.
	w.capi.broken = false
	w.turns(t, 6*60)
	if np := w.pool(t); np.Status.Repair != nil {
		t.Errorf("the record stays: %+v", np.Status.Repair)
		for _, m := range list(t, w, &clusterv1.MachineList{}).Items {
			t.Logf("%s of %s has node %q", m.Name, m.CreationTimestamp, m.Status.NodeRef.Name)
		}
	}
	w.expect(t, map[string]string{hyperv1.NodePoolReadyCondition: "True AsExpected", hyperv1.NodePoolAutorepairEnabledCondition: "True AsExpected"})
}

func TestMachinesStayWithoutAutoRepair(t *testing.T) {
	w := brokenEnv(t)
	w.changePool(t, func(np *hyperv1.NodePool) { np.Spec.Management.AutoRepair = false })
	w.turns(t, 120)
	if n := w.replaced(); n != 0 {
		t.Errorf("%d machines are replaced", n)
	}
	w.expect(t, map[string]string{hyperv1.NodePoolAutorepairEnabledCondition: "False AutoRepairOff", hyperv1.NodePoolAllNodesHealthyCondition: "False NodesNotHealthy 2 of 2"})
}

// A machine may have a node that Cluster API has not seen.
func TestMachinesStayWhileNobodySeesNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		blind func(*testEnv)
		cause string
	}{
		"Cluster API does not run": {
			blind: func(w *testEnv) {
				capi := capiDeployment()
				if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(capi), capi); err != nil {
					t.Fatal(err)
				}
				capi.Status.AvailableReplicas = 0
				if err := w.Admin().Status().Update(t.Context(), capi); err != nil {
					t.Fatal(err)
				}
			},
			cause: "Cluster API does not run",
		},
		"Cluster API does not reach the hosted cluster": {
			blind: func(w *testEnv) {
				change(t, w, capiCluster(""), func(c *clusterv1.Cluster) { c.Status.Conditions[0].Status = metav1.ConditionFalse })
			},
			cause: "Cluster API does not reach the API server of the cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := brokenEnv(t)
			tc.blind(w)
			w.turns(t, 120)
			if n := w.replaced(); n != 0 {
				t.Errorf("%d machines are replaced", n)
			}
			w.expect(t, map[string]string{hyperv1.NodePoolAutorepairEnabledCondition: "True RepairBackoff 2 machines did not become nodes, and are not replaced: " + tc.cause})
		})
	}
}

var lastTime = regexp.MustCompile(`lastTime: "[^"]*"`)

func TestRepairSurvivesCrashes(t *testing.T) {
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		w := brokenEnv(t)
		w.capi.heals = true
		w.changePool(t, func(np *hyperv1.NodePool) {
			np.Annotations = map[string]string{hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: "10s"}
		})
		scenario := w.scenario()
		// The time of a replacement depends on the number of passes before it.
		scenario.Mask = func(text string) string { return lastTime.ReplaceAllString(text, "lastTime: some time") }
		return scenario
	})
}

func TestTheCauseIsInTheConditionsAndInAnEvent(t *testing.T) {
	w := newTestEnv(t)
	w.capi.broken = true
	w.turns(t, 5)
	machines := list(t, w, &clusterv1.MachineList{}).Items
	change(t, w, controlPlane(), func(hcp *hyperv1.HostedControlPlane) {
		for _, m := range machines {
			hcp.Status.MachinesWithoutNode = append(hcp.Status.MachinesWithoutNode, hyperv1.MachineWithoutNode{Name: m.Name, Reason: hyperv1.NodePoolNodeProgramsUnavailableReason, Message: "RegistryUnreachable: registry.example.com"})
		}
	})
	for len(w.events.Events) > 0 {
		<-w.events.Events
	}
	w.turns(t, 3)
	want := fmt.Sprintf("False NodeProgramsUnavailable 2 of 2 (%s, %s): RegistryUnreachable: registry.example.com", machines[0].Name, machines[1].Name)
	w.expect(t, map[string]string{hyperv1.NodePoolAllMachinesReadyCondition: want, hyperv1.NodePoolAllNodesHealthyCondition: want, hyperv1.NodePoolReadyCondition: "False NodeProgramsUnavailable 0 of 2 nodes are available: 2 of 2"})
	if n := len(w.events.Events); n != 1 {
		t.Fatalf("%d events, want 1", n)
	}
	if e := <-w.events.Events; !strings.HasPrefix(e, "Warning NodeProgramsUnavailable 2 of 2") {
		t.Errorf("event %q", e)
	}
}

// The status of a HostedControlPlane is written next to the tenant, and quotes what an instance has written.
func TestQuotedTextCannotImitateACondition(t *testing.T) {
	s := scopeOf(2, nil, []aMachine{{name: "workers-a", age: time.Hour}, {name: "workers-b", age: time.Hour}})
	long := strings.Repeat("é", 3000)
	s.hcp = controlPlane()
	s.hcp.Status.MachinesWithoutNode = []hyperv1.MachineWithoutNode{
		{Name: "workers-a", Reason: "Compromised", Message: "x; 1 of 2 (b): \u202eNodeRefused\x1b[31m\r\n\tall is well\u0000"},
		{Name: "workers-b", Reason: hyperv1.NodePoolNodeNotJoinedReason, Message: long},
		{Name: "other", Reason: hyperv1.NodePoolNodeNotJoinedReason, Message: "a machine of another pool"},
	}
	state, known := s.cause(&s.machines[0])
	if want := (remark{hyperv1.NodePoolNodeNotJoinedReason, "x, 1 of 2 (b): NodeRefused[31m all is well"}); !known || state != want {
		t.Errorf("got %q, want %q", state, want)
	}
	if state, _ := s.cause(&s.machines[1]); len([]rune(state.message)) != maxCause+3 {
		t.Errorf("%d characters are quoted", len([]rune(state.message)))
	}
}

func TestConditionsOfManyDifferentMachinesAreBounded(t *testing.T) {
	r := remarks{}
	for i := range 50 {
		r.add(fmt.Sprintf("m%02d", i), remark{reason: "NodeNotJoined", message: fmt.Sprintf("%02d %s", i, strings.Repeat("x", maxCause))})
	}
	_, message := r.summary(50, "")
	if len(message) > 5000 || !strings.HasSuffix(message, "; 42 of 50 (m08, m09, m10 and 39 more): other states") {
		t.Errorf("%d bytes, %s", len(message), message[len(message)-80:])
	}
}

func TestAMissingPodNetworkIsNamed(t *testing.T) {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	state := whyUnhealthy(m, &metav1.Condition{Reason: "NodeNotHealthy", Message: "* Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"})
	if state.reason != hyperv1.NodePoolPodNetworkNotReadyReason {
		t.Errorf("reason %s", state.reason)
	}
	if state := whyUnhealthy(m, &metav1.Condition{Reason: "NodeNotHealthy", Message: "kubelet stopped posting node status"}); state.reason != "NodeNotHealthy" {
		t.Errorf("reason %s", state.reason)
	}
}

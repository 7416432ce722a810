package nodepool

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// brokenEnv is a pool with machines that run and do not join.
func brokenEnv(t testing.TB) *testEnv {
	w := newTestEnv(t)
	w.Create(t, capiCluster(metav1.ConditionTrue))
	w.capi.broken = true
	return w
}

func capiCluster(reached metav1.ConditionStatus) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: nodepooltest.InfraID},
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

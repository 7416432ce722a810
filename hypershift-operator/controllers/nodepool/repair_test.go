package nodepool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// brokenEnv is a pool with machines that run and do not join.
func brokenEnv(t testing.TB) *fakeClusterAPI {
	e := newFakeClusterAPI(t)
	e.Create(capiCluster(metav1.ConditionTrue))
	e.capi.broken = true
	return e
}

func capiCluster(reached metav1.ConditionStatus) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: nodepooltest.InfraID},
		Status:     clusterv1.ClusterStatus{Conditions: []metav1.Condition{{Type: clusterv1.ClusterRemoteConnectionProbeCondition, Status: reached}}},
	}
}

// turns lets controller and Cluster API take turns for a time, one in each minute.
func (e *fakeClusterAPI) turns(minutes int) {
	e.T.Helper()
	e.Restart()
	e.RunFailing(minutes)
}

// replaced counts the events for replaced machines.
func (e *fakeClusterAPI) replaced() int {
	return len(slices.DeleteFunc(e.Events.Drain(), func(event string) bool { return !strings.Contains(event, "MachineReplaced") }))
}

func TestMachinesThatDoNotJoinAreReplacedWithBackoff(t *testing.T) {
	e := brokenEnv(t)
	e.turns(20)
	if n := e.replaced(); n != 0 {
		t.Fatalf("%d machines are replaced in the first 20 minutes", n)
	}
	e.turns(6 * 60)
	// A pool of two replaces one at a time: after 21, 41, 81, 161 and 321 minutes.
	if n := e.replaced(); n < 4 || n > 6 {
		t.Errorf("%d machines are replaced in six hours", n)
	}
	e.ExpectConditions(map[string]string{hyperv1.NodePoolAutorepairEnabledCondition: "True RepairBackoff machines were replaced 5 times in a row, and the new ones did not become nodes: the next replacement follows 5h20m after the last"})

	// The cause is gone: the next machine joins, and ends the back-off for the other one.
	e.capi.broken = false
	e.turns(6 * 60)
	if np := e.pool(); np.Status.Repair != nil {
		t.Errorf("the record stays: %+v", np.Status.Repair)
		for _, m := range testenv.Listed(e.Env, &clusterv1.MachineList{}).Items {
			t.Logf("%s of %s has node %q", m.Name, m.CreationTimestamp, m.Status.NodeRef.Name)
		}
	}
	e.ExpectConditions(map[string]string{hyperv1.NodePoolReadyCondition: "True AsExpected", hyperv1.NodePoolAutorepairEnabledCondition: "True AsExpected"})
}

func TestMachinesStayWithoutAutoRepair(t *testing.T) {
	e := brokenEnv(t)
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.Management.AutoRepair = false })
	e.turns(120)
	if n := e.replaced(); n != 0 {
		t.Errorf("%d machines are replaced", n)
	}
	e.ExpectConditions(map[string]string{hyperv1.NodePoolAutorepairEnabledCondition: "False AutoRepairOff", hyperv1.NodePoolAllNodesHealthyCondition: "False NodesNotHealthy 2 of 2"})
}

// A machine may have a node that Cluster API has not seen.
func TestMachinesStayWhileNobodySeesNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		blind func(*fakeClusterAPI)
		cause string
	}{
		"Cluster API does not run": {
			blind: func(e *fakeClusterAPI) {
				capi := capiDeployment()
				e.Change(capi, func() { capi.Status.AvailableReplicas = 0 })
			},
			cause: "Cluster API or its AWS provider does not run",
		},
		"Cluster API does not reach the hosted cluster": {
			blind: func(e *fakeClusterAPI) {
				testenv.Change(e.Env, capiCluster(""), func(c *clusterv1.Cluster) { c.Status.Conditions[0].Status = metav1.ConditionFalse })
			},
			cause: "Cluster API does not reach the API server of the cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := brokenEnv(t)
			tc.blind(e)
			e.turns(120)
			if n := e.replaced(); n != 0 {
				t.Errorf("%d machines are replaced", n)
			}
			e.ExpectConditions(map[string]string{hyperv1.NodePoolAutorepairEnabledCondition: "True RepairBackoff 2 machines did not become nodes, and are not replaced: " + tc.cause})
		})
	}
}

var lastTime = regexp.MustCompile(`lastTime: "[^"]*"`)

func TestRepairSurvivesCrashes(t *testing.T) {
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := brokenEnv(t)
		e.capi.heals = true
		e.changePool(func(np *hyperv1.NodePool) {
			np.Annotations = map[string]string{hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: "10s"}
		})
		scenario := e.Scenario(hyperv1.NodePoolReadyCondition)
		// The time of a replacement depends on the number of passes before it.
		scenario.Mask = func(text string) string { return lastTime.ReplaceAllString(text, "lastTime: some time") }
		return scenario
	})
}

func TestTheCauseIsInTheConditionsAndInAnEvent(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.capi.broken = true
	e.turns(5)
	machines := testenv.Listed(e.Env, &clusterv1.MachineList{}).Items
	testenv.Change(e.Env, controlPlane(), func(hcp *hyperv1.HostedControlPlane) {
		for _, m := range machines {
			hcp.Status.MachinesWithoutNode = append(hcp.Status.MachinesWithoutNode, hyperv1.MachineWithoutNode{Name: m.Name, Reason: hyperv1.NodePoolNodeProgramsUnavailableReason, Message: "RegistryUnreachable: registry.example.com"})
		}
	})
	e.Events.Drain()
	e.turns(3)
	want := fmt.Sprintf("False NodeProgramsUnavailable 2 of 2 (%s, %s): RegistryUnreachable: registry.example.com", machines[0].Name, machines[1].Name)
	e.ExpectConditions(map[string]string{hyperv1.NodePoolAllMachinesReadyCondition: want, hyperv1.NodePoolAllNodesHealthyCondition: want, hyperv1.NodePoolReadyCondition: "False NodeProgramsUnavailable 0 of 2 nodes are available: 2 of 2"})
	if got := e.Events.Drain(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning NodeProgramsUnavailable: 2 of 2") {
		t.Errorf("events %q, want one", got)
	}
}

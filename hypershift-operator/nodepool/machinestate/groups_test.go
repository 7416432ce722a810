package machinestate

import (
	"fmt"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
)

func TestMachinesAreGroupedByTheirState(t *testing.T) {
	machine := func(name string) *clusterv1.Machine {
		return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	const refusal = "failed to create AWSMachine instance: failed to run instance %s: operation error EC2: RunInstances, https response error StatusCode: 400, RequestID: %s, api error InstanceLimitExceeded: You have requested more instances (3)\n than your limit allows"
	say := func(name, id string) State {
		return stateOf(machine(name), "the instance", "InstanceProvisionFailed", strings.Replace(strings.Replace(refusal, "%s", name, 1), "%s", id, 1))
	}
	r := Groups{}
	r.add("workers-b", say("workers-b", "11111111-aaaa"))
	r.add("workers-c", stateOf(machine("workers-c"), "the node", "NodeNotHealthy", "* workers-c: kubelet stopped"))
	r.add("workers-a", say("workers-a", "22222222-bbbb"))
	reason, message := r.Summary(4, "MachinesNotReady")
	const want = "2 of 4 (workers-a, workers-b): EC2 refuses the instance: InstanceLimitExceeded: You have requested more instances (3) than your limit allows; 1 of 4 (workers-c): the node: * the machine: kubelet stopped"
	if reason != "InstanceLimitExceeded" || message != want {
		t.Errorf("%s: %s\nwant %s", reason, message, want)
	}
	many := Groups{}
	for _, name := range []string{"e", "d", "c", "b", "a"} {
		many.add(name, State{Message: "late"})
	}
	if reason, message := many.Summary(5, "MachinesNotReady"); reason != "MachinesNotReady" || message != "5 of 5 (a, b, c and 2 more): late" {
		t.Errorf("%s: %s", reason, message)
	}
}

func TestFiltersInMessagesHaveNoAddresses(t *testing.T) {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "workers-a"}}
	got := stateOf(m, "the instance", "InstanceProvisionFailed", `failed to create AWSMachine instance: failed to run machine "workers-a", `+
		`no subnets available matching criteria [{0x133c75b9a720 [pending available] {}} {0x133c75b9a730 [subnet-0123456789abcdef0] {}}]`)
	const want = `the instance: failed to create AWSMachine instance: failed to run machine "the machine", ` +
		`no subnets available matching criteria [[pending available] [subnet-0123456789abcdef0]]`
	if got.Message != want {
		t.Errorf("%s\nwant %s", got.Message, want)
	}
}

// The status of a HostedControlPlane is written next to the tenant, and quotes text of an instance.
func TestQuotedTextCannotImitateACondition(t *testing.T) {
	p := &objects.Pool{HostedControlPlane: &hyperv1.HostedControlPlane{}}
	for _, name := range []string{"workers-a", "workers-b"} {
		m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionTrue}}
		p.Machines = append(p.Machines, m)
	}
	long := strings.Repeat("é", 3000)
	p.HostedControlPlane.Status.MachinesWithoutNode = []hyperv1.MachineWithoutNode{
		{Name: "workers-a", Reason: "Compromised", Message: "x; 1 of 2 (b): \u202eNodeRefused\x1b[31m\r\n\tall is well\u0000"},
		{Name: "workers-b", Reason: hyperv1.NodePoolNodeNotJoinedReason, Message: long},
		{Name: "other", Reason: hyperv1.NodePoolNodeNotJoinedReason, Message: "a machine of another pool"},
	}
	state, known := cause(p, &p.Machines[0])
	if want := (State{hyperv1.NodePoolNodeNotJoinedReason, "x, 1 of 2 (b): NodeRefused[31m all is well"}); !known || state != want {
		t.Errorf("got %q, want %q", state, want)
	}
	if state, _ := cause(p, &p.Machines[1]); len([]rune(state.Message)) != maxCause+3 {
		t.Errorf("%d characters are quoted", len([]rune(state.Message)))
	}
}

func TestConditionsOfManyDifferentMachinesAreBounded(t *testing.T) {
	r := Groups{}
	for i := range 50 {
		r.add(fmt.Sprintf("m%02d", i), State{Reason: "NodeNotJoined", Message: fmt.Sprintf("%02d %s", i, strings.Repeat("x", maxCause))})
	}
	_, message := r.Summary(50, "")
	if len(message) > 5000 || !strings.HasSuffix(message, "; 42 of 50 (m08, m09, m10 and 39 more): other states") {
		t.Errorf("%d bytes, %s", len(message), message[len(message)-80:])
	}
}

func TestAMissingPodNetworkIsNamed(t *testing.T) {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	state := whyUnhealthy(m, &metav1.Condition{Reason: "NodeNotHealthy", Message: "* Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"})
	if state.Reason != hyperv1.NodePoolPodNetworkNotReadyReason {
		t.Errorf("reason %s", state.Reason)
	}
	if state := whyUnhealthy(m, &metav1.Condition{Reason: "NodeNotHealthy", Message: "kubelet stopped posting node status"}); state.Reason != "NodeNotHealthy" {
		t.Errorf("reason %s", state.Reason)
	}
}

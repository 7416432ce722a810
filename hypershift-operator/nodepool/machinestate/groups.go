package machinestate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

// State is the state of one or more machines.
type State struct{ Reason, Message string }

// Groups are the names of machines by their state.
type Groups map[State][]string

func (g Groups) add(machine string, state State) { g[state] = append(g[state], machine) }

// Summary returns one sentence for each group, the largest first. It does not depend on the order of the machines. The reason
// is the largest group's. Small groups are counted only: the text of a group may come from an instance, and each
// instance may report another one.
func (g Groups) Summary(total int, otherwise string) (reason, message string) {
	groups := make([]State, 0, len(g))
	for state := range g {
		groups = append(groups, state)
	}
	slices.SortFunc(groups, func(a, b State) int {
		return cmp.Or(cmp.Compare(len(g[b]), len(g[a])), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Reason, b.Reason))
	})
	var sentences []string
	for _, state := range groups[:min(len(groups), described)] {
		sentences = append(sentences, fmt.Sprintf("%d of %d (%s): %s", len(g[state]), total, Some(g[state]), state.Message))
	}
	if len(groups) > described {
		var others []string
		for _, state := range groups[described:] {
			others = append(others, g[state]...)
		}
		sentences = append(sentences, fmt.Sprintf("%d of %d (%s): other states", len(others), total, Some(others)))
	}
	return cmp.Or(groups[0].Reason, otherwise), strings.Join(sentences, "; ")
}

// described is how many groups of machines have a sentence of their own.
const described = 8

// named is how many machines of a group are listed by name.
const named = 3

// Some names a few of the machines.
func Some(machines []string) string { return oneline.List(machines, named) }

// NotReady groups the machines that are not ready by their wait. It leaves out machines that are being deleted.
func NotReady(p *objects.Pool) Groups {
	out := Groups{}
	for i := range p.Machines {
		m := &p.Machines[i]
		if m.DeletionTimestamp.IsZero() && !meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineReadyCondition) {
			state, reported := cause(p, m)
			if !reported {
				state = whyNotReady(m, p.AWSMachineOf(m))
			}
			out.add(m.Name, state)
		}
	}
	return out
}

// whyNotReady returns the first thing that a machine waits for: user data, the instance, the node. Errors of EC2 are in the
// conditions of the AWSMachine.
func whyNotReady(m *clusterv1.Machine, instance *infrav1.AWSMachine) State {
	if c := notTrue(m, clusterv1.MachineBootstrapConfigReadyCondition); c != nil {
		return stateOf(m, "the user data", c.Reason, c.Message)
	}
	if c := notTrue(m, clusterv1.MachineInfrastructureReadyCondition); c != nil {
		if instance != nil {
			for _, ready := range instance.Status.Conditions {
				if ready.Type == infrav1.InstanceReadyCondition && ready.Status != "True" && ready.Message != "" {
					return stateOf(m, "the instance", ready.Reason, ready.Message)
				}
			}
		}
		return stateOf(m, "the instance", c.Reason, c.Message)
	}
	if c := notTrue(m, clusterv1.MachineReadyCondition); c != nil {
		return whyUnhealthy(m, c)
	}
	return State{Reason: hyperv1.NodePoolWaitingForMachinesReason, Message: "Cluster API has not reconciled it yet"}
}

func notTrue(m *clusterv1.Machine, condition string) *metav1.Condition {
	c := meta.FindStatusCondition(m.Status.Conditions, condition)
	if c == nil || c.Status == metav1.ConditionTrue {
		return nil
	}
	return c
}

// NotHealthy returns the problem of each machine with a node that is not healthy, or without a node.
func NotHealthy(p *objects.Pool) Groups {
	out := Groups{}
	for i := range p.Machines {
		m := &p.Machines[i]
		if !m.DeletionTimestamp.IsZero() || healthy(m) {
			continue
		}
		state := NoNode(p, m)
		if c := notTrue(m, clusterv1.MachineNodeHealthyCondition); c != nil && m.Status.NodeRef.IsDefined() {
			state = whyUnhealthy(m, c)
		}
		out.add(m.Name, state)
	}
	return out
}

func healthy(m *clusterv1.Machine) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineNodeHealthyCondition)
}

// Available counts the nodes that can be used.
func Available(p *objects.Pool) (n int32) {
	for i := range p.Machines {
		if p.Machines[i].DeletionTimestamp.IsZero() && meta.IsStatusConditionTrue(p.Machines[i].Status.Conditions, clusterv1.MachineAvailableCondition) {
			n++
		}
	}
	return n
}

// Remaining describes the machines that still exist during deletion.
func Remaining(p *objects.Pool) string {
	if p.Remaining() == 0 {
		return "waiting for Cluster API to delete the MachineDeployment"
	}
	out := Groups{}
	for i := range p.Machines {
		m := &p.Machines[i]
		state := State{Message: "deletion is requested"}
		if c := meta.FindStatusCondition(m.Status.Conditions, clusterv1.MachineDeletingCondition); c != nil && c.Status == metav1.ConditionTrue {
			state = stateOf(m, "it", c.Reason, c.Message)
		}
		out.add(m.Name, state)
	}
	for _, m := range p.Unowned() {
		out.add(m.Name, State{Message: "an AWSMachine without Machine, which the AWS provider of Cluster API has to delete"})
	}
	_, message := out.Summary(p.Remaining(), "")
	return "machines still exist: " + message
}

// stateOf removes from a message the names and ids that differ between two machines, or two attempts, with the same error.
func stateOf(m *clusterv1.Machine, about, reason, message string) State {
	if answer := ec2Answer.FindStringSubmatch(message); answer != nil {
		return State{Reason: answer[1], Message: "EC2 refuses " + about + ": " + answer[1] + ": " + tidy(m, answer[2])}
	}
	if message == "" {
		return State{Reason: reason, Message: about + ": " + reason}
	}
	return State{Reason: reason, Message: about + ": " + tidy(m, message)}
}

var (
	// ec2Answer matches an error of EC2 as the SDK prints it.
	ec2Answer = regexp.MustCompile(`(?s)api error ([A-Za-z0-9.]+): (.*)`)
	requestID = regexp.MustCompile(`(?i),? ?request ?id: [0-9a-f-]+`)
	// filter matches a filter of EC2 as the AWS provider of Cluster API prints it: with the address of its name, not the name.
	filter = regexp.MustCompile(`\{0x[0-9a-f]+ (\[[^\]]*\]) \{\}\}`)
	blanks = regexp.MustCompile(`\s+`)
)

func tidy(m *clusterv1.Machine, message string) string {
	message = strings.ReplaceAll(message, m.Name, "the machine")
	message = requestID.ReplaceAllString(message, "")
	message = filter.ReplaceAllString(message, "$1")
	return strings.TrimSpace(blanks.ReplaceAllString(message, " "))
}

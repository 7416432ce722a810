package nodepool

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
	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

// A remark is the state of one or more machines.
type remark struct{ reason, message string }

// remarks groups machines by their state.
type remarks map[remark][]string

func (r remarks) add(machine string, state remark) { r[state] = append(r[state], machine) }

// summary returns one sentence for each group, the largest first. It does not depend on the order of the machines. The reason
// is that of the largest group. Small groups are counted only: the text of a group may come from an instance, and each
// instance may report another one.
func (r remarks) summary(total int, otherwise string) (reason, message string) {
	groups := make([]remark, 0, len(r))
	for state := range r {
		groups = append(groups, state)
	}
	slices.SortFunc(groups, func(a, b remark) int {
		return cmp.Or(cmp.Compare(len(r[b]), len(r[a])), cmp.Compare(a.message, b.message), cmp.Compare(a.reason, b.reason))
	})
	var sentences []string
	for _, state := range groups[:min(len(groups), described)] {
		sentences = append(sentences, fmt.Sprintf("%d of %d (%s): %s", len(r[state]), total, some(r[state]), state.message))
	}
	if len(groups) > described {
		var others []string
		for _, state := range groups[described:] {
			others = append(others, r[state]...)
		}
		sentences = append(sentences, fmt.Sprintf("%d of %d (%s): other states", len(others), total, some(others)))
	}
	return cmp.Or(groups[0].reason, otherwise), strings.Join(sentences, "; ")
}

// described is how many groups of machines have a sentence of their own.
const described = 8

// named is how many machines of a group are listed by name.
const named = 3

func some(machines []string) string { return oneline.List(machines, named) }

// notReady returns what each machine waits for. It leaves out machines that are being deleted.
func (s *scope) notReady() remarks {
	out := remarks{}
	instances := map[string]*infrav1.AWSMachine{}
	for i := range s.awsMachines {
		instances[s.awsMachines[i].Name] = &s.awsMachines[i]
	}
	for i := range s.machines {
		m := &s.machines[i]
		if m.DeletionTimestamp.IsZero() && !meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineReadyCondition) {
			state, known := s.cause(m)
			if !known {
				state = whyNotReady(m, instances[m.Spec.InfrastructureRef.Name])
			}
			out.add(m.Name, state)
		}
	}
	return out
}

// whyNotReady returns the first thing that a machine waits for: user data, the instance, the node. Errors of EC2 are in the
// conditions of the AWSMachine.
func whyNotReady(m *clusterv1.Machine, instance *infrav1.AWSMachine) remark {
	if c := notTrue(m, clusterv1.MachineBootstrapConfigReadyCondition); c != nil {
		return remarkOf(m, "the user data", c.Reason, c.Message)
	}
	if c := notTrue(m, clusterv1.MachineInfrastructureReadyCondition); c != nil {
		if instance != nil {
			for _, ready := range instance.Status.Conditions {
				if ready.Type == infrav1.InstanceReadyCondition && ready.Status != "True" && ready.Message != "" {
					return remarkOf(m, "the instance", ready.Reason, ready.Message)
				}
			}
		}
		return remarkOf(m, "the instance", c.Reason, c.Message)
	}
	if c := notTrue(m, clusterv1.MachineReadyCondition); c != nil {
		return whyUnhealthy(m, c)
	}
	return remark{reason: hyperv1.NodePoolWaitingForMachinesReason, message: "Cluster API has not reconciled it yet"}
}

func notTrue(m *clusterv1.Machine, condition string) *metav1.Condition {
	c := meta.FindStatusCondition(m.Status.Conditions, condition)
	if c == nil || c.Status == metav1.ConditionTrue {
		return nil
	}
	return c
}

// notHealthy returns what is wrong with the node of each machine.
func (s *scope) notHealthy() remarks {
	out := remarks{}
	for i := range s.machines {
		m := &s.machines[i]
		if !m.DeletionTimestamp.IsZero() || healthy(m) {
			continue
		}
		state := s.whyNoNode(m)
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

// available counts the nodes that can be used.
func (s *scope) available() (n int32) {
	for i := range s.machines {
		if s.machines[i].DeletionTimestamp.IsZero() && meta.IsStatusConditionTrue(s.machines[i].Status.Conditions, clusterv1.MachineAvailableCondition) {
			n++
		}
	}
	return n
}

// leftWords describes the machines that still exist during deletion.
func (s *scope) leftWords() string {
	if s.remaining() == 0 {
		return "waiting for Cluster API to delete the MachineDeployment"
	}
	out := remarks{}
	for i := range s.machines {
		m := &s.machines[i]
		state := remark{message: "deletion is requested"}
		if c := meta.FindStatusCondition(m.Status.Conditions, clusterv1.MachineDeletingCondition); c != nil && c.Status == metav1.ConditionTrue {
			state = remarkOf(m, "it", c.Reason, c.Message)
		}
		out.add(m.Name, state)
	}
	for _, m := range s.unowned() {
		out.add(m.Name, remark{message: "an AWSMachine without Machine, which the AWS provider of Cluster API has to delete"})
	}
	_, message := out.summary(s.remaining(), "")
	return "machines still exist: " + message
}

// remarkOf removes from a message what differs between two machines, or between two attempts, with the same error.
func remarkOf(m *clusterv1.Machine, about, reason, message string) remark {
	if answer := ec2Answer.FindStringSubmatch(message); answer != nil {
		return remark{reason: answer[1], message: "EC2 refuses " + about + ": " + answer[1] + ": " + tidy(m, answer[2])}
	}
	if message == "" {
		return remark{reason: reason, message: about + ": " + reason}
	}
	return remark{reason: reason, message: about + ": " + tidy(m, message)}
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

package machinestate

import (
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
)

// joinFailures are the causes that the control-plane-operator determines for a machine without a node.
var joinFailures = []string{
	hyperv1.NodePoolInstanceNotRunningReason,
	hyperv1.NodePoolInstanceImpairedReason,
	hyperv1.NodePoolInstanceNotBootedReason,
	hyperv1.NodePoolNodeProgramsUnavailableReason,
	hyperv1.NodePoolAPIServerUnreachableReason,
	hyperv1.NodePoolNodeRefusedReason,
	hyperv1.NodePoolNodeNotJoinedReason,
}

// IsCause reports whether a reason explains why machines do not become nodes.
func IsCause(reason string) bool {
	return slices.Contains(joinFailures, reason) || reason == hyperv1.NodePoolPodNetworkNotReadyReason
}

// maxCause is the length up to which a cause is quoted. The instance may have written it.
const maxCause = 400

// cause returns the cause that the control-plane-operator reports for a machine without a node.
func cause(p *objects.Pool, m *clusterv1.Machine) (State, bool) {
	if p.HostedControlPlane == nil || m.Status.NodeRef.IsDefined() || !meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineInfrastructureReadyCondition) {
		return State{}, false
	}
	for _, found := range p.HostedControlPlane.Status.MachinesWithoutNode {
		if found.Name != m.Name {
			continue
		}
		state := State{Reason: found.Reason, Message: quotable(strings.ReplaceAll(found.Message, m.Name, "the machine"))}
		if !slices.Contains(joinFailures, state.Reason) {
			state.Reason = hyperv1.NodePoolNodeNotJoinedReason
		}
		if state.Message == "" {
			state.Message = "it has not joined the cluster"
		}
		return state, true
	}
	return State{}, false
}

// quotable removes the characters that would change the meaning of a condition that quotes the text: control characters, and the
// character that separates groups of machines.
func quotable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ','
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	text = strings.TrimSpace(blanks.ReplaceAllString(text, " "))
	if runes := []rune(text); len(runes) > maxCause {
		text = string(runes[:maxCause]) + "..."
	}
	return text
}

// NoNode returns why a machine has no node.
func NoNode(p *objects.Pool, m *clusterv1.Machine) State {
	if state, reported := cause(p, m); reported {
		return state
	}
	return State{Reason: hyperv1.NodePoolNodesNotHealthyReason, Message: "no node yet"}
}

// whyUnhealthy returns the problem of a node.
func whyUnhealthy(m *clusterv1.Machine, c *metav1.Condition) State {
	state := stateOf(m, "the node", c.Reason, c.Message)
	if podNetworkMissing(c.Message) {
		state.Reason = hyperv1.NodePoolPodNetworkNotReadyReason
	}
	return state
}

// podNetworkMissing recognizes the message of a kubelet with a container runtime that has no network plug-in.
func podNetworkMissing(message string) bool {
	return strings.Contains(message, "NetworkPluginNotReady") || strings.Contains(message, "cni plugin not initialized")
}

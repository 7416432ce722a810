// Package networkpolicy evaluates NetworkPolicies as the API defines them, so that a test can check connections instead of
// the text of policies. A pod that no policy of a direction selects is open in that direction; otherwise only the union of
// its policies' rules is open.
package networkpolicy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Party is one end of a connection: a pod, or an address outside of the cluster.
type Party struct {
	// Namespace of a pod; empty for an address outside of the cluster.
	Namespace string
	// NamespaceLabels are the labels of its Namespace.
	NamespaceLabels map[string]string
	Labels          map[string]string
	// Ports are the named ports of the pod's containers.
	Ports   map[string]int32
	Address netip.Addr
}

// Port is the destination of a connection.
type Port struct {
	Protocol corev1.Protocol
	Number   int32
}

// TCP is a port of TCP.
func TCP(number int32) Port { return Port{Protocol: corev1.ProtocolTCP, Number: number} }

// UDP is a port of UDP.
func UDP(number int32) Port { return Port{Protocol: corev1.ProtocolUDP, Number: number} }

// Egress reports whether the policies let the pod open connections to a port of the other end.
func Egress(policies []networkingv1.NetworkPolicy, pod, to Party, port Port) bool {
	selected := selecting(policies, pod, networkingv1.PolicyTypeEgress)
	return len(selected) == 0 || slices.ContainsFunc(selected, func(p networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return anyPeer(r.To, p.Namespace, to) && anyPort(r.Ports, to, port)
		})
	})
}

// Ingress reports whether the policies let the other end open connections to a port of the pod.
func Ingress(policies []networkingv1.NetworkPolicy, from, pod Party, port Port) bool {
	selected := selecting(policies, pod, networkingv1.PolicyTypeIngress)
	return len(selected) == 0 || slices.ContainsFunc(selected, func(p networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return anyPeer(r.From, p.Namespace, from) && anyPort(r.Ports, pod, port)
		})
	})
}

// selecting are the policies that select the pod for one direction.
func selecting(policies []networkingv1.NetworkPolicy, pod Party, direction networkingv1.PolicyType) []networkingv1.NetworkPolicy {
	var found []networkingv1.NetworkPolicy
	for _, p := range policies {
		if p.Namespace == pod.Namespace && matches(&p.Spec.PodSelector, pod.Labels) && slices.Contains(p.Spec.PolicyTypes, direction) {
			found = append(found, p)
		}
	}
	return found
}

func anyPeer(peers []networkingv1.NetworkPolicyPeer, namespace string, other Party) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool { return isPeer(p, namespace, other) })
}

func isPeer(peer networkingv1.NetworkPolicyPeer, namespace string, other Party) bool {
	if peer.IPBlock != nil {
		return inBlock(peer.IPBlock, other.Address)
	}
	if other.Namespace == "" {
		return false
	}
	inNamespace := other.Namespace == namespace
	if peer.NamespaceSelector != nil {
		inNamespace = matches(peer.NamespaceSelector, other.NamespaceLabels)
	}
	return inNamespace && (peer.PodSelector == nil || matches(peer.PodSelector, other.Labels))
}

func inBlock(block *networkingv1.IPBlock, addr netip.Addr) bool {
	contains := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(addr) }
	return contains(block.CIDR) && !slices.ContainsFunc(block.Except, contains)
}

func anyPort(ports []networkingv1.NetworkPolicyPort, pod Party, port Port) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if ptr.Deref(p.Protocol, corev1.ProtocolTCP) != port.Protocol {
			return false
		}
		switch {
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			number, named := pod.Ports[p.Port.StrVal]
			return named && number == port.Number
		default:
			return p.Port.IntVal <= port.Number && port.Number <= ptr.Deref(p.EndPort, p.Port.IntVal)
		}
	})
}

func matches(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		panic(err)
	}
	return s.Matches(labels.Set(set))
}

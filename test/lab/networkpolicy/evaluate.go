package networkpolicy

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UnenforcedLabel on a namespace lets the lab ignore its policies, like a network that does not enforce any.
const UnenforcedLabel = "hypershift-lab/unenforced"

// State is the input for the rules of a node.
type State struct {
	// Node is the name of the node.
	Node       string
	Policies   []*networkingv1.NetworkPolicy
	Namespaces []*corev1.Namespace
	Pods       []*corev1.Pod
	// Addresses are the addresses of the node's pods by UID, before their status contains them.
	Addresses map[types.UID][]netip.Addr
}

// Rules are the rules of a node.
type Rules struct {
	// Pods are the addresses of the pods of the node.
	Pods []netip.Addr
	// Ingress and Egress have the addresses of the node's pods that are isolated, each with the keys of the policies that select it.
	Ingress, Egress map[netip.Addr][]string
	// Policies are those that select pods of the node, by key.
	Policies map[string]Policy
	// NamedPorts are the endpoints of the ports that these policies name.
	NamedPorts map[NamedPort][]netip.AddrPort
}

// Policy is a NetworkPolicy with its selectors resolved.
type Policy struct{ Ingress, Egress []Rule }

// Rule allows connections with one of the peers on one of the ports.
type Rule struct {
	Peers *Peers // nil: every address
	Ports []Port // none: every port of every protocol
}

// Peers are addresses.
type Peers struct {
	Pods   []netip.Addr
	Blocks []Block
}

// Block is a CIDR without the CIDRs in Except.
type Block struct {
	CIDR   netip.Prefix
	Except []netip.Prefix
}

// Port is a range of ports or a name. With neither it is every port of the protocol.
type Port struct {
	Protocol    corev1.Protocol
	First, Last uint16
	Name        string
}

// NamedPort is a port of pods. The number of a name may differ between pods.
type NamedPort struct {
	Protocol corev1.Protocol
	Name     string
}

// Evaluate resolves the policies for the pods of the node.
func Evaluate(s State) Rules {
	e := evaluation{
		State:  s,
		labels: map[string]labels.Set{},
		rules: Rules{
			Ingress: map[netip.Addr][]string{}, Egress: map[netip.Addr][]string{},
			Policies: map[string]Policy{}, NamedPorts: map[NamedPort][]netip.AddrPort{},
		},
	}
	for _, ns := range s.Namespaces {
		e.labels[ns.Name] = ns.Labels
	}
	for _, p := range s.Pods {
		if p.Spec.NodeName == s.Node {
			e.rules.Pods = append(e.rules.Pods, s.addresses(p)...)
		}
	}
	e.rules.Pods = sorted(e.rules.Pods)
	policies := slices.SortedFunc(slices.Values(s.Policies), func(a, b *networkingv1.NetworkPolicy) int { return cmp.Compare(key(a), key(b)) })
	for _, policy := range policies {
		if _, unenforced := e.labels[policy.Namespace][UnenforcedLabel]; !unenforced {
			e.add(policy)
		}
	}
	return e.rules
}

func key(p *networkingv1.NetworkPolicy) string { return p.Namespace + "/" + p.Name }

type evaluation struct {
	State
	labels map[string]labels.Set // of namespaces
	rules  Rules
}

// add adds a policy if it selects a pod of the node.
func (e *evaluation) add(policy *networkingv1.NetworkPolicy) {
	selector := asSelector(&policy.Spec.PodSelector)
	var selected []netip.Addr
	for _, p := range e.Pods {
		if p.Spec.NodeName == e.Node && p.Namespace == policy.Namespace && selector.Matches(labels.Set(p.Labels)) {
			selected = append(selected, e.addresses(p)...)
		}
	}
	if len(selected) == 0 {
		return
	}
	var resolved Policy
	ingress, egress := directions(policy)
	if ingress {
		isolate(e.rules.Ingress, selected, key(policy))
		for _, r := range policy.Spec.Ingress {
			resolved.Ingress = append(resolved.Ingress, Rule{Peers: e.peers(policy.Namespace, r.From), Ports: e.ports(r.Ports)})
		}
	}
	if egress {
		isolate(e.rules.Egress, selected, key(policy))
		for _, r := range policy.Spec.Egress {
			resolved.Egress = append(resolved.Egress, Rule{Peers: e.peers(policy.Namespace, r.To), Ports: e.ports(r.Ports)})
		}
	}
	e.rules.Policies[key(policy)] = resolved
}

// directions are the policy types. The API server sets them; this is its default.
func directions(policy *networkingv1.NetworkPolicy) (ingress, egress bool) {
	if types := policy.Spec.PolicyTypes; len(types) > 0 {
		return slices.Contains(types, networkingv1.PolicyTypeIngress), slices.Contains(types, networkingv1.PolicyTypeEgress)
	}
	return true, len(policy.Spec.Egress) > 0
}

func isolate(isolated map[netip.Addr][]string, pods []netip.Addr, policy string) {
	for _, pod := range pods {
		if !slices.Contains(isolated[pod], policy) {
			isolated[pod] = append(isolated[pod], policy)
		}
	}
}

// peers resolves the peers of a rule of a policy in the namespace.
func (e *evaluation) peers(namespace string, peers []networkingv1.NetworkPolicyPeer) *Peers {
	if len(peers) == 0 {
		return nil
	}
	all := &Peers{}
	for _, peer := range peers {
		if peer.IPBlock != nil {
			if block, ok := readBlock(peer.IPBlock); ok {
				all.Blocks = append(all.Blocks, block)
			}
			continue
		}
		for _, p := range e.Pods {
			if e.matches(peer, namespace, p) {
				all.Pods = append(all.Pods, e.addresses(p)...)
			}
		}
	}
	all.Pods = sorted(all.Pods)
	return all
}

func (e *evaluation) matches(peer networkingv1.NetworkPolicyPeer, namespace string, p *corev1.Pod) bool {
	if peer.NamespaceSelector == nil && p.Namespace != namespace {
		return false
	}
	if peer.NamespaceSelector != nil {
		of, known := e.labels[p.Namespace]
		if !known || !asSelector(peer.NamespaceSelector).Matches(of) {
			return false
		}
	}
	return peer.PodSelector == nil || asSelector(peer.PodSelector).Matches(labels.Set(p.Labels))
}

// readBlock parses an ipBlock. An invalid CIDR matches no address, and an invalid exception excludes none; the API server
// accepts neither.
func readBlock(block *networkingv1.IPBlock) (Block, bool) {
	cidr, err := netip.ParsePrefix(block.CIDR)
	if err != nil {
		return Block{}, false
	}
	read := Block{CIDR: cidr.Masked()}
	for _, text := range block.Except {
		if except, err := netip.ParsePrefix(text); err == nil {
			read.Except = append(read.Except, except.Masked())
		}
	}
	return read, true
}

// ports resolves the ports of a rule. If none of its ports can be resolved, the rule allows no port; an empty list would
// mean all.
func (e *evaluation) ports(ports []networkingv1.NetworkPolicyPort) []Port {
	var all []Port
	for _, port := range ports {
		read := Port{Protocol: corev1.ProtocolTCP}
		if port.Protocol != nil {
			read.Protocol = *port.Protocol
		}
		switch {
		case port.Port == nil:
		case port.Port.Type == intstr.String:
			read.Name = port.Port.StrVal
			e.name(NamedPort{read.Protocol, read.Name})
		default:
			read.First = uint16(port.Port.IntVal)
			read.Last = read.First
			if port.EndPort != nil {
				read.Last = uint16(*port.EndPort)
			}
		}
		all = append(all, read)
	}
	return all
}

// name finds the endpoints of a named port in all pods, because for egress the port belongs to the peer.
func (e *evaluation) name(port NamedPort) {
	if _, done := e.rules.NamedPorts[port]; done {
		return
	}
	endpoints := []netip.AddrPort{}
	for _, p := range e.Pods {
		for _, number := range numbers(p, port) {
			for _, address := range e.addresses(p) {
				endpoints = append(endpoints, netip.AddrPortFrom(address, number))
			}
		}
	}
	slices.SortFunc(endpoints, netip.AddrPort.Compare)
	e.rules.NamedPorts[port] = slices.Compact(endpoints)
}

// numbers are the port numbers of a name in a pod.
func numbers(p *corev1.Pod, port NamedPort) []uint16 {
	containers := slices.Clone(p.Spec.Containers)
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c) // a sidecar
		}
	}
	var all []uint16
	for _, c := range containers {
		for _, declared := range c.Ports {
			protocol := cmp.Or(declared.Protocol, corev1.ProtocolTCP)
			if declared.Name == port.Name && protocol == port.Protocol {
				all = append(all, uint16(declared.ContainerPort))
			}
		}
	}
	return all
}

// addresses returns the addresses of a pod on the pod network. A completed pod has none, because another pod may have got them.
func (s State) addresses(p *corev1.Pod) []netip.Addr {
	if p.Spec.HostNetwork || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil
	}
	all := slices.Clone(s.Addresses[p.UID])
	for _, ip := range p.Status.PodIPs {
		if address, err := netip.ParseAddr(strings.TrimSpace(ip.IP)); err == nil {
			all = append(all, address.Unmap())
		}
	}
	return sorted(all)
}

func sorted(all []netip.Addr) []netip.Addr {
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// asSelector parses a selector. An invalid one, which the API server rejects, matches no object.
func asSelector(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

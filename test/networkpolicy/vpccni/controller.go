package vpccni

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/hosted-control-planes/hypershift/test/networkpolicy"
)

// chunk is the number of entries of one PolicyEndpoint: the default of the controller's flag --endpoint-chunk-size.
const chunk = 200

// Cluster holds the objects that the controller reads.
type Cluster struct {
	// Namespaces are the labels of each namespace, by name.
	Namespaces map[string]map[string]string
	Pods       []networkpolicy.Party
	Services   []corev1.Service
}

// Ports is a range of ports of one protocol. Without a protocol it is every port of every protocol.
type Ports struct {
	Protocol corev1.Protocol
	// From is 0 for all ports of the protocol.
	From, To int32
}

// Entry is an address range of a PolicyEndpoint, with the ports that are open; all if there are none.
type Entry struct {
	CIDR   netip.Prefix
	Except []netip.Prefix
	Ports  []Ports
}

// Endpoints are the PolicyEndpoints of a policy.
type Endpoints struct {
	Ingress, Egress []Entry
	// Selected is the number of pods that the policy selects.
	Selected int
}

// Objects is the number of PolicyEndpoints that the controller writes.
func (e Endpoints) Objects() int {
	chunks := func(entries int) int { return (entries + chunk - 1) / chunk }
	return max(1, chunks(len(e.Ingress)), chunks(len(e.Egress)), chunks(e.Selected))
}

// Resolve resolves a policy.
func (c Cluster) Resolve(policy networkingv1.NetworkPolicy) Endpoints {
	var e Endpoints
	selected := c.pods(policy.Namespace, &policy.Spec.PodSelector)
	e.Selected = len(selected)
	for _, rule := range policy.Spec.Ingress {
		ports, none := ingressPorts(rule.Ports, selected)
		if none {
			continue
		}
		if len(rule.From) == 0 {
			e.Ingress = append(e.Ingress, everywhere(ports)...)
		}
		for _, peer := range rule.From {
			if peer.IPBlock != nil {
				e.Ingress = append(e.Ingress, block(peer.IPBlock, ports))
				continue
			}
			for _, pod := range c.peers(policy.Namespace, peer) {
				e.Ingress = append(e.Ingress, Entry{CIDR: single(pod.Address), Ports: ports})
			}
		}
	}
	for _, rule := range policy.Spec.Egress {
		numbered, none := numberedPorts(rule.Ports)
		if len(rule.To) == 0 && !none {
			e.Egress = append(e.Egress, everywhere(numbered)...)
		}
		for _, peer := range rule.To {
			if peer.IPBlock != nil {
				if !none {
					e.Egress = append(e.Egress, block(peer.IPBlock, numbered))
				}
				continue
			}
			for _, pod := range c.peers(policy.Namespace, peer) {
				if ports, none := ingressPorts(rule.Ports, []networkpolicy.Party{pod}); !none {
					e.Egress = append(e.Egress, Entry{CIDR: single(pod.Address), Ports: ports})
				}
			}
			e.Egress = append(e.Egress, c.services(policy.Namespace, peer, rule.Ports)...)
		}
	}
	return e
}

// peers are the pods of a peer that is not a block.
func (c Cluster) peers(namespace string, peer networkingv1.NetworkPolicyPeer) []networkpolicy.Party {
	var found []networkpolicy.Party
	for _, n := range c.namespaces(namespace, peer) {
		found = append(found, c.pods(n, peer.PodSelector)...)
	}
	return found
}

// namespaces are the namespaces of a peer that is not a block, sorted.
func (c Cluster) namespaces(namespace string, peer networkingv1.NetworkPolicyPeer) []string {
	if peer.NamespaceSelector == nil {
		return []string{namespace}
	}
	var found []string
	for name, set := range c.Namespaces {
		if matches(peer.NamespaceSelector, set) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// pods are the pods of a namespace that have an address.
func (c Cluster) pods(namespace string, selector *metav1.LabelSelector) []networkpolicy.Party {
	var found []networkpolicy.Party
	for _, pod := range c.Pods {
		if pod.Namespace == namespace && pod.Address.IsValid() && matches(selector, pod.Labels) {
			found = append(found, pod)
		}
	}
	return found
}

// services returns the ClusterIPs of a peer's Services: Services with a selector that satisfies the peer's pod selector as if it were
// the labels of a pod. Numbers are compared with the ports of the Service, names with its target ports.
func (c Cluster) services(namespace string, peer networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) []Entry {
	var found []Entry
	for _, n := range c.namespaces(namespace, peer) {
		for _, s := range c.Services {
			address, err := netip.ParseAddr(s.Spec.ClusterIP)
			if s.Namespace != n || err != nil || !matches(peer.PodSelector, s.Spec.Selector) {
				continue // err: it is headless
			}
			open := c.servicePorts(s, ports)
			if len(ports) == 0 || len(open) > 0 {
				found = append(found, Entry{CIDR: single(address), Ports: open})
			}
		}
	}
	return found
}

func (c Cluster) servicePorts(s corev1.Service, ports []networkingv1.NetworkPolicyPort) []Ports {
	var open []Ports
	for _, p := range ports {
		protocol := ptr.Deref(p.Protocol, corev1.ProtocolTCP)
		if p.Port == nil {
			open = append(open, Ports{Protocol: protocol})
			continue
		}
		for _, sp := range s.Spec.Ports {
			named := p.Port.Type == intstr.String
			if sp.Protocol != protocol || named && sp.TargetPort.StrVal != p.Port.StrVal || !named && (sp.Port != p.Port.IntVal || c.leadsElsewhere(s, sp, ports)) {
				continue
			}
			open = append(open, Ports{Protocol: protocol, From: sp.Port, To: ptr.Deref(p.EndPort, sp.Port)})
		}
	}
	return open
}

// leadsElsewhere reports whether a named target port of a Service port is another number in one of its pods, which the rule does not
// open.
func (c Cluster) leadsElsewhere(s corev1.Service, sp corev1.ServicePort, ports []networkingv1.NetworkPolicyPort) bool {
	if sp.TargetPort.Type != intstr.String {
		return false
	}
	for _, pod := range c.pods(s.Namespace, metav1.SetAsLabelSelector(s.Spec.Selector)) {
		number, named := pod.Ports[sp.TargetPort.StrVal]
		opened, _ := ingressPorts(ports, []networkpolicy.Party{pod})
		if named && !slices.ContainsFunc(opened, func(p Ports) bool { return p.contain(networkpolicy.Port{Protocol: sp.Protocol, Number: number}) }) {
			return true
		}
	}
	return false
}

// ingressPorts are the ports of a rule in these pods, together. None: the rule has ports, and the pods have none of them.
func ingressPorts(ports []networkingv1.NetworkPolicyPort, pods []networkpolicy.Party) (open []Ports, none bool) {
	for _, p := range ports {
		if p.Port == nil || p.Port.Type == intstr.Int {
			open = append(open, numbered(p))
			continue
		}
		for _, pod := range pods {
			number, named := pod.Ports[p.Port.StrVal]
			r := Ports{Protocol: ptr.Deref(p.Protocol, corev1.ProtocolTCP), From: number, To: number}
			if named && !slices.Contains(open, r) {
				open = append(open, r)
			}
		}
	}
	return open, len(ports) > 0 && len(open) == 0
}

// numberedPorts are the ports of a rule for addresses, which have no named ports.
func numberedPorts(ports []networkingv1.NetworkPolicyPort) (open []Ports, none bool) {
	return ingressPorts(ports, nil)
}

func numbered(p networkingv1.NetworkPolicyPort) Ports {
	r := Ports{Protocol: ptr.Deref(p.Protocol, corev1.ProtocolTCP)}
	if p.Port != nil {
		r.From, r.To = p.Port.IntVal, ptr.Deref(p.EndPort, p.Port.IntVal)
	}
	return r
}

func everywhere(ports []Ports) []Entry {
	return []Entry{{CIDR: netip.MustParsePrefix("0.0.0.0/0"), Ports: ports}, {CIDR: netip.MustParsePrefix("::/0"), Ports: ports}}
}

func block(b *networkingv1.IPBlock, ports []Ports) Entry {
	e := Entry{CIDR: netip.MustParsePrefix(b.CIDR), Ports: ports}
	for _, except := range b.Except {
		e.Except = append(e.Except, netip.MustParsePrefix(except))
	}
	return e
}

func single(address netip.Addr) netip.Prefix { return netip.PrefixFrom(address, address.BitLen()) }

// matches: no selector matches everything.
func matches(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		panic(err)
	}
	return s.Matches(labels.Set(set))
}

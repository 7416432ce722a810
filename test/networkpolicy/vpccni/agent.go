package vpccni

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/hosted-control-planes/hypershift/test/networkpolicy"
)

// Egress reports whether a pod of an IPv4 cluster opens connections to an address. The address is the address that the pod uses: the
// ClusterIP of a Service, not the address of its pod.
func (c Cluster) Egress(policies []networkingv1.NetworkPolicy, pod networkpolicy.Party, to netip.Addr, port networkpolicy.Port) bool {
	entries, isolated := c.entries(policies, pod, networkingv1.PolicyTypeEgress)
	return !isolated || newTable(entries).allows(to, port)
}

// Ingress reports whether an address opens connections to a pod of an IPv4 cluster.
func (c Cluster) Ingress(policies []networkingv1.NetworkPolicy, from netip.Addr, pod networkpolicy.Party, port networkpolicy.Port) bool {
	entries, isolated := c.entries(policies, pod, networkingv1.PolicyTypeIngress)
	return !isolated || newTable(entries).allows(from, port)
}

// Isolated reports whether a policy selects the pod for the direction. In the strict mode of the agent, a pod without a policy has no
// connections.
func (c Cluster) Isolated(policies []networkingv1.NetworkPolicy, pod networkpolicy.Party, direction networkingv1.PolicyType) bool {
	_, isolated := c.entries(policies, pod, direction)
	return isolated
}

// entries returns the entries of all policies that select the pod for the direction.
func (c Cluster) entries(policies []networkingv1.NetworkPolicy, pod networkpolicy.Party, direction networkingv1.PolicyType) (all []Entry, isolated bool) {
	for _, p := range policies {
		if p.Namespace != pod.Namespace || !matches(&p.Spec.PodSelector, pod.Labels) || !slices.Contains(p.Spec.PolicyTypes, direction) {
			continue
		}
		isolated = true
		if direction == networkingv1.PolicyTypeIngress {
			all = append(all, c.Resolve(p).Ingress...)
		} else {
			all = append(all, c.Resolve(p).Egress...)
		}
	}
	return all, isolated
}

// table is the map of a pod for one direction, with the longest prefix first. A prefix without ports is closed.
type table []Entry

// all is every port of every protocol.
var all = Ports{}

func newTable(entries []Entry) table {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !e.CIDR.Addr().Is4() })
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.CIDR.Bits() - b.CIDR.Bits() })
	var t table
	for _, e := range entries {
		e.CIDR = e.CIDR.Masked()
		if len(e.Ports) == 0 {
			e.Ports = []Ports{all}
		}
		if same := t.find(e.CIDR); same != nil {
			same.Ports, same.Except = slices.Concat(same.Ports, e.Ports), slices.Concat(same.Except, e.Except)
			continue
		}
		ports := slices.Clone(e.Ports)
		for _, wider := range t {
			if wider.CIDR.Contains(e.CIDR.Addr()) && !slices.ContainsFunc(wider.Except, func(p netip.Prefix) bool { return p.Contains(e.CIDR.Addr()) }) {
				ports = append(ports, wider.Ports...)
			}
		}
		t = append(t, Entry{CIDR: e.CIDR, Except: e.Except, Ports: ports})
	}
	for _, e := range slices.Clone(t) {
		for _, except := range e.Except {
			if except = except.Masked(); t.find(except) == nil {
				t = append(t, Entry{CIDR: except})
			}
		}
	}
	slices.SortStableFunc(t, func(a, b Entry) int { return b.CIDR.Bits() - a.CIDR.Bits() })
	return t
}

func (t table) find(cidr netip.Prefix) *Entry {
	if i := slices.IndexFunc(t, func(e Entry) bool { return e.CIDR == cidr }); i >= 0 {
		return &t[i]
	}
	return nil
}

// allows looks the longest prefix up.
func (t table) allows(address netip.Addr, port networkpolicy.Port) bool {
	for _, e := range t {
		if e.CIDR.Contains(address) {
			return slices.ContainsFunc(e.Ports, func(p Ports) bool { return p.contain(port) })
		}
	}
	return false
}

func (p Ports) contain(port networkpolicy.Port) bool {
	return p.Protocol == "" || p.Protocol == port.Protocol && (p.From == 0 || p.From <= port.Number && port.Number <= p.To)
}

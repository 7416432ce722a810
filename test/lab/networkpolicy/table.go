package networkpolicy

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/test/lab/nftables"
)

// rules is a table that is being rendered.
type rules struct{ nftables.Table }

// family is an IP version in the terms of nftables.
type family struct {
	name, suffix, of string
	is               func(netip.Addr) bool
}

var families = []family{
	{"ip", "-ip4", "ipv4_addr", netip.Addr.Is4},
	{"ip6", "-ip6", "ipv6_addr", netip.Addr.Is6},
}

// Sets and chains that always exist. Those with addresses have the suffix of a family.
const (
	localPods      = "local-pods"
	itself         = "itself"
	ingress        = "ingress"
	egress         = "egress"
	ingressForward = "ingress-forward"
	egressForward  = "egress-forward"
	egressInput    = "egress-input"
)

// Addresses cannot be resolved without these messages, which carry no data.
const neighborDiscovery = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, nd-router-advert, mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report } accept"

// render translates rules to nftables, for pods on the bridge.
//
//	egress-input, egress-forward (from the bridge)  ─► egress ─► pods-egress-* ─► egress-* of each policy, or drop
//	ingress-forward (to the bridge)                 ─► ingress ─► pods-ingress-* ─► ingress-* of each policy, or drop
//
// Accept ends only the current base chain: a packet that egress accepts goes through ingress next.
func render(r Rules, bridge string) nftables.Table {
	t := rules{nftables.NewTable()}
	replies, fromPods, toPods := "ct state established,related accept", fmt.Sprintf("iifname != %q accept", bridge), fmt.Sprintf("oifname != %q accept", bridge)
	t.Chains[egressInput] = nftables.Chain{Hook: "input", Priority: "0", Rules: []string{fromPods, replies, neighborDiscovery, "jump " + egress}}
	t.Chains[egressForward] = nftables.Chain{Hook: "forward", Priority: "0", Rules: []string{fromPods, replies, neighborDiscovery, "jump " + egress}}
	t.Chains[ingressForward] = nftables.Chain{Hook: "forward", Priority: "10", Rules: []string{toPods, replies, neighborDiscovery, "jump " + ingress}}

	var local, out, in []string
	for _, f := range families {
		local = append(local, f.name+" %s != @"+localPods+f.suffix+" counter drop")
		loop := fmt.Sprintf("%[1]s saddr . %[1]s daddr @%[2]s accept", f.name, itself+f.suffix)
		out = append(out, loop, fmt.Sprintf("%s saddr vmap @%s", f.name, egress+f.suffix))
		in = append(in, loop, fmt.Sprintf("%s daddr vmap @%s", f.name, ingress+f.suffix))
		pods, loops := nftables.NewSet(f.of), nftables.NewSet(f.of+" . "+f.of)
		for _, pod := range r.Pods {
			if f.is(pod) {
				pods.Elements[pod.String()] = ""
				loops.Elements[pod.String()+" . "+pod.String()] = ""
			}
		}
		t.Sets[localPods+f.suffix], t.Sets[itself+f.suffix] = pods, loops
	}
	t.Chains[egress] = nftables.Chain{Comment: "what pods of this node send", Rules: append(each(local, "saddr"), out...)}
	t.Chains[ingress] = nftables.Chain{Comment: "what pods of this node receive", Rules: append(each(local, "daddr"), in...)}
	t.isolate(ingress, r.Ingress)
	t.isolate(egress, r.Egress)
	for name, policy := range r.Policies {
		if isolates(r.Ingress, name) {
			t.policy(ingress, "saddr", name, policy.Ingress)
		}
		if isolates(r.Egress, name) {
			t.policy(egress, "daddr", name, policy.Egress)
		}
	}
	for port, endpoints := range r.NamedPorts {
		for _, f := range families {
			s := nftables.NewSet(f.of + " . inet_service")
			for _, e := range endpoints {
				if f.is(e.Addr()) {
					s.Elements[e.Addr().String()+" . "+strconv.Itoa(int(e.Port()))] = ""
				}
			}
			t.Sets[named(port)+f.suffix] = s
		}
	}
	return t.Table
}

// each inserts a word into each of the rules.
func each(rules []string, word string) []string {
	var all []string
	for _, r := range rules {
		all = append(all, fmt.Sprintf(r, word))
	}
	return all
}

func isolates(pods map[netip.Addr][]string, policy string) bool {
	for _, policies := range pods {
		if slices.Contains(policies, policy) {
			return true
		}
	}
	return false
}

// isolate directs the packets of isolated pods to the policies that select them. Pods with the same policies share a
// chain.
func (t rules) isolate(direction string, pods map[netip.Addr][]string) {
	for _, f := range families {
		verdicts := nftables.NewMap(f.of, nftables.Verdict)
		for pod, policies := range pods {
			if !f.is(pod) {
				continue
			}
			name := "pods-" + direction + "-" + hash(policies...)
			verdicts.Elements[pod.String()] = "goto " + name
			c := nftables.Chain{}
			for _, p := range policies {
				c.Rules = append(c.Rules, "jump "+policyChain(direction, p))
			}
			c.Rules = append(c.Rules, "counter drop")
			t.Chains[name] = c
		}
		t.Sets[direction+f.suffix] = verdicts
	}
}

func policyChain(direction, policy string) string { return direction + "-" + hash(policy) }

// policy renders the rules of a policy for one direction. field is the address field of the peers.
func (t rules) policy(direction, field, name string, rules []Rule) {
	c := nftables.Chain{Comment: short(name)}
	for i, r := range rules {
		ports := portMatches(r.Ports)
		for _, peer := range t.peerMatches(fmt.Sprintf("peers-%s-%s-%d", direction, hash(name), i), field, r.Peers) {
			for _, port := range ports {
				if peer.family != "" && port.family != "" && peer.family != port.family {
					continue
				}
				c.Rules = append(c.Rules, strings.Join(slices.DeleteFunc([]string{peer.text, port.text, "accept"}, func(s string) bool { return s == "" }), " "))
			}
		}
	}
	t.Chains[policyChain(direction, name)] = c
}

// short is a comment that nftables accepts.
func short(comment string) string { return comment[:min(len(comment), 120)] }

// match is a part of a rule; with addresses, family is set.
type match struct{ family, text string }

func (t rules) peerMatches(name, field string, peers *Peers) []match {
	if peers == nil {
		return []match{{}}
	}
	var all []match
	for _, f := range families {
		s := nftables.NewSet(f.of)
		for _, pod := range peers.Pods {
			if f.is(pod) {
				s.Elements[pod.String()] = ""
			}
		}
		if len(s.Elements) > 0 {
			t.Sets[name+f.suffix] = s
			all = append(all, match{f.name, fmt.Sprintf("%s %s @%s", f.name, field, name+f.suffix)})
		}
		for _, b := range peers.Blocks {
			if !f.is(b.CIDR.Addr()) {
				continue
			}
			// nftables has no prefix of length 0; without a match the rule applies to every address of the family.
			text := fmt.Sprintf("%s %s %s", f.name, field, b.CIDR)
			if b.CIDR.Bits() == 0 {
				text = "meta nfproto " + map[string]string{"ip": "ipv4", "ip6": "ipv6"}[f.name]
			}
			for _, except := range b.Except {
				text += fmt.Sprintf(" %s %s != %s", f.name, field, except)
			}
			all = append(all, match{f.name, text})
		}
	}
	return all
}

func portMatches(ports []Port) []match {
	if len(ports) == 0 {
		return []match{{}}
	}
	var all []match
	for _, p := range ports {
		protocol := strings.ToLower(string(p.Protocol))
		switch {
		case p.Name != "":
			for _, f := range families {
				all = append(all, match{f.name, fmt.Sprintf("%s daddr . %s dport @%s", f.name, protocol, named(NamedPort{p.Protocol, p.Name})+f.suffix)})
			}
		case p.First == 0:
			all = append(all, match{text: "meta l4proto " + protocol})
		case p.First == p.Last:
			all = append(all, match{text: fmt.Sprintf("%s dport %d", protocol, p.First)})
		default:
			all = append(all, match{text: fmt.Sprintf("%s dport %d-%d", protocol, p.First, p.Last)})
		}
	}
	return all
}

func named(p NamedPort) string { return "port-" + protocolName(p.Protocol) + "-" + p.Name }

func protocolName(p corev1.Protocol) string { return strings.ToLower(string(p)) }

// hash is a short, deterministic hash of words in order.
func hash(words ...string) string {
	h := fnv.New64a()
	for _, w := range words {
		_, _ = h.Write([]byte(w + "\x00")) // never fails
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

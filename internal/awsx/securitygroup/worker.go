package securitygroup

import (
	"net/netip"
)

// WorkerRules are the rules of a group for workers in those networks. The first one is the traffic between workers: every network plug-in
// needs other protocols and ports of it, see docs/node-pools.md. The others allow ping and SSH from the networks.
func WorkerRules(networks ...netip.Prefix) []Rule {
	rules := []Rule{{Protocol: AllProtocols, Description: "All traffic between workers"}}
	for _, network := range networks {
		icmp := "icmp"
		if network.Addr().Is6() {
			icmp = "icmpv6"
		}
		rules = append(rules,
			Rule{Protocol: icmp, From: -1, To: -1, Source: network.Masked(), Description: "ICMP"},
			Rule{Protocol: "tcp", From: 22, To: 22, Source: network.Masked(), Description: "SSH"},
		)
	}
	return rules
}

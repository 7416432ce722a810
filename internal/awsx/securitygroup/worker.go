package securitygroup

import (
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
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

// String describes what the rule allows.
func (r Rule) String() string {
	source := "the group"
	if r.Source.IsValid() {
		source = r.Source.String()
	}
	if r.Protocol == AllProtocols {
		return "all from " + source
	}
	return fmt.Sprintf("%s %d-%d from %s", r.Protocol, r.From, r.To, source)
}

// Missing returns the rules that a group does not have.
func Missing(g types.SecurityGroup, rules []Rule) (missing []Rule) {
	have := map[key]bool{}
	for _, i := range read(g).ingress {
		have[i.key()] = true
	}
	for _, r := range rules {
		if !have[r.ingress(aws.ToString(g.GroupId)).key()] {
			missing = append(missing, r)
		}
	}
	return missing
}

// Permissions are the rules of the group with that id.
func Permissions(rules []Rule, group string) []types.IpPermission {
	var all []ingress
	for _, r := range rules {
		all = append(all, r.ingress(group))
	}
	return wire(all)
}

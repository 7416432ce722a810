package workersecuritygroup

import (
	"net/netip"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// among is the traffic between workers. Every network plug-in needs other protocols and ports of it: see
// docs/node-pools.md.
var among = securitygroup.Rule{Protocol: securitygroup.AllProtocols, Description: "All traffic between workers"}

// rules allow that traffic, and ping and SSH from the machine networks.
func rules(machines []hyperv1.MachineNetworkEntry) ([]securitygroup.Rule, error) {
	out := []securitygroup.Rule{among}
	for _, m := range machines {
		network, err := netip.ParsePrefix(m.CIDR)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidPlatformReason, "networking.machineNetwork %q is not a network such as 10.0.0.0/16", m.CIDR)
		}
		icmp := "icmp"
		if network.Addr().Is6() {
			icmp = "icmpv6"
		}
		out = append(out,
			securitygroup.Rule{Protocol: icmp, From: -1, To: -1, Source: network.Masked(), Description: "ICMP"},
			securitygroup.Rule{Protocol: "tcp", From: 22, To: 22, Source: network.Masked(), Description: "SSH"},
		)
	}
	return out, nil
}

// ofLoadBalancers is true for rules that cloud controllers create for load balancers of
// the hosted cluster. The cloud-provider-aws and the AWS Load Balancer Controller
// describe rules for networks this way. Rules for a group are for load balancers that
// have one, or for machines of the customer.
func ofLoadBalancers(rule securitygroup.Foreign) bool {
	return rule.Group != "" || strings.HasPrefix(rule.Description, "kubernetes.io/rule/") || strings.HasPrefix(rule.Description, "elbv2.k8s.aws/")
}

package workersecuritygroup

import (
	"net/netip"
	"slices"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// among is what workers say to each other.
var among = []securitygroup.Rule{
	{Protocol: "udp", From: 4789, To: 4789, Description: "VXLAN"},
	{Protocol: "udp", From: 6081, To: 6081, Description: "Geneve"},
	{Protocol: "udp", From: 500, To: 500, Description: "IKE"},
	{Protocol: "udp", From: 4500, To: 4500, Description: "IPsec through NAT"},
	{Protocol: "50", Description: "IPsec ESP"},
	{Protocol: "tcp", From: 9000, To: 9999, Description: "Services of the host network"},
	{Protocol: "udp", From: 9000, To: 9999, Description: "Services of the host network"},
	{Protocol: "tcp", From: 10250, To: 10250, Description: "Kubelet"},
	{Protocol: "tcp", From: 30000, To: 32767, Description: "Node ports"},
	{Protocol: "udp", From: 30000, To: 32767, Description: "Node ports"},
}

// rules are those, and what everybody in the machine networks may do to a worker.
func rules(machines []hyperv1.MachineNetworkEntry) ([]securitygroup.Rule, error) {
	out := slices.Clone(among)
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

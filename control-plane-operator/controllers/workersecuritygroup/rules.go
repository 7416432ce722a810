package workersecuritygroup

import (
	"net/netip"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// rules allow the traffic between workers, and ping and SSH from the machine networks.
func rules(machines []hyperv1.MachineNetworkEntry) ([]securitygroup.Rule, error) {
	var networks []netip.Prefix
	for _, m := range machines {
		network, err := netip.ParsePrefix(m.CIDR)
		if err != nil {
			return nil, reconcile.Block(hyperv1.InvalidPlatformReason, "networking.machineNetwork %q is not a network such as 10.0.0.0/16", m.CIDR)
		}
		networks = append(networks, network)
	}
	return securitygroup.WorkerRules(networks...), nil
}

// ofLoadBalancers is true for rules that cloud controllers create for load balancers of
// the hosted cluster. The cloud-provider-aws and the AWS Load Balancer Controller
// describe rules for networks this way. Rules for a group are for load balancers that
// have one, or for machines of the customer.
func ofLoadBalancers(rule securitygroup.Foreign) bool {
	return rule.Group != "" || strings.HasPrefix(rule.Description, "kubernetes.io/rule/") || strings.HasPrefix(rule.Description, "elbv2.k8s.aws/")
}

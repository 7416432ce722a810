package vpc

import (
	"net/netip"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// balancerNetwork returns a network with a load balancer with these groups, an instance with a range of pods, and another VPC with
// the same addresses.
func balancerNetwork(groups ...awsemulator.SecurityGroup) *Network {
	n := &Network{pods: map[string][]netip.Prefix{"i-1": {netip.MustParsePrefix("10.2.0.0/24")}}}
	nlb := awsemulator.NetworkInterface{ID: "eni-1", VPC: "vpc-1", Kind: awsemulator.BalancerInterface, Description: "ELB net/nlb/1"}
	for _, g := range groups {
		nlb.Groups = append(nlb.Groups, g.ID)
	}
	n.now.Groups = groups
	n.now.Interfaces = []awsemulator.NetworkInterface{
		nlb,
		{ID: "eni-2", VPC: "vpc-1", Instance: "i-1", Address: netip.MustParseAddr("10.0.0.5")},
		{ID: "eni-3", VPC: "vpc-2", Instance: "i-2", Address: netip.MustParseAddr("10.0.0.5")},
	}
	return n
}

// A load balancer enforces the rules of its groups on the addresses of clients that use an endpoint, unless it has no groups.
func TestSecurityGroupsApplyToPrivateLink(t *testing.T) {
	const nlb = "arn:aws:elasticloadbalancing:us-east-1:111111111111:loadbalancer/net/nlb/1"
	rule := func(r awsemulator.SecurityGroupRule) awsemulator.SecurityGroup {
		return awsemulator.SecurityGroup{ID: "sg-1", VPC: "vpc-1", Ingress: []awsemulator.SecurityGroupRule{r}}
	}
	for name, tc := range map[string]struct {
		groups []awsemulator.SecurityGroup
		want   bool
	}{
		"no group":                                 {nil, true},
		"a group without rules":                    {[]awsemulator.SecurityGroup{{ID: "sg-1"}}, false},
		"all addresses":                            {[]awsemulator.SecurityGroup{rule(awsemulator.SecurityGroupRule{Protocol: "tcp", From: 443, To: 443, CIDR: "0.0.0.0/0"})}, true},
		"another port":                             {[]awsemulator.SecurityGroup{rule(awsemulator.SecurityGroupRule{Protocol: "tcp", From: 6443, To: 6443, CIDR: "0.0.0.0/0"})}, false},
		"another protocol":                         {[]awsemulator.SecurityGroup{rule(awsemulator.SecurityGroupRule{Protocol: "udp", From: 443, To: 443, CIDR: "0.0.0.0/0"})}, false},
		"all protocols":                            {[]awsemulator.SecurityGroup{rule(awsemulator.SecurityGroupRule{Protocol: "-1", From: -1, To: -1, CIDR: "10.1.0.0/16"})}, true},
		"the management VPC only":                  {[]awsemulator.SecurityGroup{rule(awsemulator.SecurityGroupRule{Protocol: "tcp", From: 443, To: 443, CIDR: "10.0.0.0/16"})}, false},
		"the customer's VPC":                       {[]awsemulator.SecurityGroup{rule(awsemulator.SecurityGroupRule{Protocol: "tcp", From: 1, To: 65535, CIDR: "10.1.0.0/16"})}, true},
		"a group of the management VPC, not of it": {[]awsemulator.SecurityGroup{rule(awsemulator.SecurityGroupRule{Protocol: "tcp", From: 443, To: 443, Group: "sg-2"})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := balancerNetwork(tc.groups...).Allows(nlb, netip.MustParseAddr("10.1.0.7"), 443); got != tc.want {
				t.Errorf("the client is allowed: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestInstancesAreFoundByTheirAddressesAndThoseOfTheirPods(t *testing.T) {
	for _, tc := range []struct{ vpc, address, want string }{
		{"vpc-1", "10.0.0.5", "i-1"}, {"vpc-2", "10.0.0.5", "i-2"}, {"vpc-1", "10.2.0.9", "i-1"}, {"vpc-2", "10.2.0.9", ""}, {"vpc-1", "10.0.0.6", ""}, {"", "10.0.0.5", ""},
	} {
		if got := balancerNetwork().Instance(tc.vpc, netip.MustParseAddr(tc.address)); got != tc.want {
			t.Errorf("%s in %q is %q, want %q", tc.address, tc.vpc, got, tc.want)
		}
	}
}

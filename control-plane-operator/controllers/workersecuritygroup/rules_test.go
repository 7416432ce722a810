package workersecuritygroup

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
)

func TestRules(t *testing.T) {
	among := []string{"-1 0-0 from itself"}
	for name, c := range map[string]struct {
		machines []string
		want     []string
		wrong    bool
	}{
		"without a machine network workers talk to each other alone": {},
		"each machine network may ping and log in": {
			machines: []string{"10.0.0.0/16", "10.1.2.3/24"},
			want:     []string{"icmp -1--1 from 10.0.0.0/16", "icmp -1--1 from 10.1.2.0/24", "tcp 22-22 from 10.0.0.0/16", "tcp 22-22 from 10.1.2.0/24"},
		},
		"a network of version 6 has its own ICMP": {
			machines: []string{"2001:db8::/32"}, want: []string{"icmpv6 -1--1 from 2001:db8::/32", "tcp 22-22 from 2001:db8::/32"},
		},
		"what is no network is refused": {machines: []string{"10.0.0.0"}, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			var machines []hyperv1.MachineNetworkEntry
			for _, m := range c.machines {
				machines = append(machines, hyperv1.MachineNetworkEntry{CIDR: m})
			}
			list, err := rules(machines)
			if c.wrong {
				if err == nil {
					t.Error("taken")
				}
				return
			}
			var got []string
			for _, r := range list {
				from := "itself"
				if r.Source.IsValid() {
					from = r.Source.String()
				}
				got = append(got, fmt.Sprintf("%s %d-%d from %s", r.Protocol, r.From, r.To, from))
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(slices.Concat(among, c.want)))
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestRulesOfLoadBalancers(t *testing.T) {
	for name, c := range map[string]struct {
		rule securitygroup.Foreign
		want bool
	}{
		"clients of a network load balancer":           {securitygroup.Foreign{Description: "kubernetes.io/rule/nlb/client=a0123"}, true},
		"health checks of a network load balancer":     {securitygroup.Foreign{Description: "kubernetes.io/rule/nlb/health=a0123"}, true},
		"targets of the AWS Load Balancer Controller":  {securitygroup.Foreign{Description: "elbv2.k8s.aws/targetGroupBinding=shared"}, true},
		"a load balancer with a group of its own":      {securitygroup.Foreign{Group: "sg-1"}, true},
		"a port that was opened for a network by hand": {securitygroup.Foreign{Description: "temporary"}, false},
		"a rule without a description":                 {securitygroup.Foreign{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ofLoadBalancers(c.rule); got != c.want {
				t.Errorf("left alone: %v", got)
			}
		})
	}
}

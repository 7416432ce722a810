package awsprivatelink

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/internal/awsx/subnet"
)

func TestChoose(t *testing.T) {
	facts := map[string]subnet.Subnet{
		"subnet-a1": {VPC: "vpc-1", ZoneID: "use1-az1"},
		"subnet-a2": {VPC: "vpc-1", ZoneID: "use1-az1"},
		"subnet-b1": {VPC: "vpc-1", ZoneID: "use1-az2"},
		"subnet-c1": {VPC: "vpc-1", ZoneID: "use1-az3"},
		"subnet-x1": {VPC: "vpc-2", ZoneID: "use1-az1"},
	}
	served := []string{"use1-az1", "use1-az2"}
	for name, c := range map[string]struct {
		wanted, attached, want []string
		problems               string
	}{
		"one in each zone, sorted, whatever the order": {
			wanted: []string{"subnet-b1", "subnet-a1"}, want: []string{"subnet-a1", "subnet-b1"},
		},
		"of two in a zone the smaller id": {
			wanted: []string{"subnet-a2", "subnet-a1"}, want: []string{"subnet-a1"},
		},
		"of two in a zone the one that the endpoint has": {
			wanted: []string{"subnet-a1", "subnet-a2"}, attached: []string{"subnet-a2"}, want: []string{"subnet-a2"},
		},
		"one that the endpoint has and no pool wants is not kept": {
			wanted: []string{"subnet-a1"}, attached: []string{"subnet-a2"}, want: []string{"subnet-a1"},
		},
		"the same subnet twice": {
			wanted: []string{"subnet-a1", "subnet-a1"}, want: []string{"subnet-a1"},
		},
		"zones that the service does not serve are named": {
			wanted: []string{"subnet-a1", "subnet-c1"}, want: []string{"subnet-a1"},
			problems: "in zones that the endpoint service does not serve: subnet-c1 (in use1-az3)",
		},
		"subnets of another VPC and unknown ones are named, and hide no other": {
			wanted: []string{"subnet-9", "subnet-x1", "subnet-a1"}, want: []string{"subnet-a1"},
			problems: "not found: subnet-9; in another VPC: subnet-x1 (in vpc-2)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := choose(c.wanted, c.attached, facts, "vpc-1", served)
			if d := cmp.Diff(c.want, got.subnets); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if got.problems() != c.problems {
				t.Errorf("got %q, want %q", got.problems(), c.problems)
			}
		})
	}
}

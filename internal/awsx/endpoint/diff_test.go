package endpoint

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// zoneOf: a1 and a2 are in one zone, b1 and b2 in another.
var zoneOf = map[string]string{"a1": "az-a", "a2": "az-a", "b1": "az-b", "b2": "az-b", "c1": "az-c"}

func TestDiff(t *testing.T) {
	id := "vpce-1"
	for name, c := range map[string]struct {
		subnets, groups       []string
		gotSubnets, gotGroups []string
		want                  *ec2.ModifyVpcEndpointInput
	}{
		"the order of subnets is no difference": {
			subnets: []string{"a1", "b1"}, gotSubnets: []string{"b1", "a1"},
		},
		"a new zone is added": {
			subnets: []string{"a1", "b1"}, gotSubnets: []string{"a1"},
			want: &ec2.ModifyVpcEndpointInput{AddSubnetIds: []string{"b1"}},
		},
		"a zone that is no longer wanted is removed": {
			subnets: []string{"a1"}, gotSubnets: []string{"a1", "b1"},
			want: &ec2.ModifyVpcEndpointInput{RemoveSubnetIds: []string{"b1"}},
		},
		"a new zone is added before an old one is removed": {
			subnets: []string{"c1"}, gotSubnets: []string{"a1", "b1"},
			want: &ec2.ModifyVpcEndpointInput{AddSubnetIds: []string{"c1"}},
		},
		"a subnet is removed before another one of its zone is added": {
			subnets: []string{"a2", "b1"}, gotSubnets: []string{"a1", "b1"},
			want: &ec2.ModifyVpcEndpointInput{RemoveSubnetIds: []string{"a1"}},
		},
		"two zones move one after the other": {
			subnets: []string{"a2", "b2"}, gotSubnets: []string{"a1", "b1"},
			want: &ec2.ModifyVpcEndpointInput{RemoveSubnetIds: []string{"a1"}},
		},
		"the zone that was freed gets its new subnet before the next zone moves": {
			subnets: []string{"a2", "b2"}, gotSubnets: []string{"b1"},
			want: &ec2.ModifyVpcEndpointInput{AddSubnetIds: []string{"a2"}},
		},
		"groups are compared both ways": {
			subnets: []string{"a1"}, gotSubnets: []string{"a1"}, groups: []string{"sg-ours"}, gotGroups: []string{"sg-default"},
			want: &ec2.ModifyVpcEndpointInput{AddSecurityGroupIds: []string{"sg-ours"}, RemoveSecurityGroupIds: []string{"sg-default"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want != nil {
				c.want.VpcEndpointId = &id
			}
			spec := Spec{Subnets: c.subnets, Groups: c.groups, ZoneOf: zoneOf}
			got, _ := diff(spec, Endpoint{ID: id, Subnets: c.gotSubnets, Groups: c.gotGroups})
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(ec2.ModifyVpcEndpointInput{})); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// However an endpoint has to move, it arrives, never has two subnets in a
// zone, and is never without a subnet unless its only zone moves.
func TestDiffArrives(t *testing.T) {
	layouts := [][]string{{"a1"}, {"a2"}, {"a1", "b1"}, {"a2", "b2"}, {"a1", "c1"}, {"a2", "b1", "c1"}, {"b2", "c1"}}
	for _, from := range layouts {
		for _, to := range layouts {
			have := append([]string(nil), from...)
			for step := 0; ; step++ {
				change, _ := diff(Spec{Subnets: to, ZoneOf: zoneOf}, Endpoint{Subnets: have})
				if change == nil {
					break
				}
				if step == 10 {
					t.Fatalf("%v -> %v: still at %v", from, to, have)
				}
				have = append(minus(have, change.RemoveSubnetIds), change.AddSubnetIds...)
				zones := map[string]bool{}
				for _, s := range have {
					if zones[zoneOf[s]] {
						t.Fatalf("%v -> %v: two subnets in one zone: %v", from, to, have)
					}
					zones[zoneOf[s]] = true
				}
				if len(have) == 0 && (len(from) > 1 || len(to) > 1) {
					t.Fatalf("%v -> %v: cut off", from, to)
				}
			}
			if len(minus(have, to))+len(minus(to, have)) > 0 {
				t.Errorf("%v -> %v ended at %v", from, to, have)
			}
		}
	}
}

func TestToken(t *testing.T) {
	spec := Spec{Owner: "uid", Role: "private-router", ServiceName: "svc", VPC: "vpc-1", Subnets: []string{"a1"}}
	again, next, moved := spec, spec, spec
	again.ZoneOf = zoneOf
	next.Previous = "vpce-1"
	moved.Subnets = []string{"b1"}
	if token(spec) != token(again) {
		t.Error("the same attempt has two tokens: a repeated call would make a second endpoint")
	}
	if token(spec) == token(next) {
		t.Error("the attempt after vpce-1 has the token of vpce-1: EC2 would answer with the endpoint that is gone")
	}
	if token(spec) == token(moved) {
		t.Error("one token for different parameters: EC2 would refuse it for a day")
	}
}

func TestChoose(t *testing.T) {
	with := func(id string, state State, role string) Endpoint {
		return Endpoint{ID: id, State: state, Tags: map[string]string{"hypershift.openshift.io/role": role}}
	}
	for name, c := range map[string]struct {
		all   []Endpoint
		got   string
		spare []string
	}{
		"without endpoints, none is chosen":            {},
		"an endpoint of another role is ignored":       {all: []Endpoint{with("vpce-1", Available, "other")}},
		"an endpoint that is being deleted is ignored": {all: []Endpoint{with("vpce-1", Deleting, "r")}},
		"the only endpoint is chosen":                  {all: []Endpoint{with("vpce-1", Pending, "r")}, got: "vpce-1"},
		"of two endpoints, the recorded one is chosen": {
			all: []Endpoint{with("vpce-1", Pending, "r"), with("vpce-2", Available, "r")}, got: "vpce-2", spare: []string{"vpce-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, spare := choose(c.all, Spec{Role: "r", Previous: "vpce-2"})
			var id string
			if got != nil {
				id = got.ID
			}
			var ids []string
			for _, e := range spare {
				ids = append(ids, e.ID)
			}
			if id != c.got || !cmp.Equal(ids, c.spare) {
				t.Errorf("got %q and spare %v, want %q and %v", id, ids, c.got, c.spare)
			}
		})
	}
}

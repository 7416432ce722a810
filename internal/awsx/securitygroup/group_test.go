package securitygroup

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestRulesAreDescribedWithTheirSources(t *testing.T) {
	for name, c := range map[string]struct {
		rules []types.IpPermission
		want  string
	}{
		"no rule":                         {nil, ""},
		"a rule of two sources":           {[]types.IpPermission{permission(22, "10.0.0.0/16", "0.0.0.0/0")}, "tcp 22-22 from 0.0.0.0/0, tcp 22-22 from 10.0.0.0/16"},
		"a protocol without ports":        {[]types.IpPermission{pair("50", 0, "sg-9")}, "50 from sg-9"},
		"all traffic of the group itself": {[]types.IpPermission{pair("-1", 0, "sg-1")}, "all from the group"},
		"addresses of IPv6 and of lists": {[]types.IpPermission{{
			IpProtocol: aws.String("-1"), Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}, PrefixListIds: []types.PrefixListId{{PrefixListId: aws.String("pl-1")}},
		}}, "all from ::/0, all from pl-1"},
	} {
		got := strings.Join(Spec{}.Compared(Read(types.SecurityGroup{GroupId: aws.String("sg-1"), IpPermissions: c.rules})), ", ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAGroupWithTheRulesOfItsSpecIsDescribedAsDesired(t *testing.T) {
	spec := Spec{Rules: WorkerRules(rule(1, "10.0.0.0/16").Source)}
	got := Group{ID: "sg-1"}
	for _, r := range spec.Rules {
		got.ingress = append(got.ingress, r.ingress("sg-1"))
	}
	const want = "all from the group, icmp -1--1 from 10.0.0.0/16, tcp 22-22 from 10.0.0.0/16"
	if text := strings.Join(spec.Desired(), ", "); text != want {
		t.Errorf("desired %q, want %q", text, want)
	}
	added := got
	added.ingress = append(added.ingress[:len(added.ingress):len(added.ingress)], rule(80, "0.0.0.0/0").ingress("sg-1"))
	leaves := spec
	leaves.Leave = func(Foreign) bool { return true }
	for name, c := range map[string]struct {
		spec  Spec
		group Group
		want  string
	}{
		"the same rules":             {spec, got, want},
		"a rule that is revoked":     {spec, added, want + ", tcp 80-80 from 0.0.0.0/0"},
		"a rule that is left":        {leaves, added, want},
		"a group that lacks a rule ": {leaves, Group{ID: "sg-1", ingress: got.ingress[1:]}, strings.TrimPrefix(want, "all from the group, ")},
	} {
		if text := strings.Join(c.spec.Compared(c.group), ", "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

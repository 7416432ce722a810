package securitygroup

import (
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

func rule(port int32, cidr string) Rule {
	return Rule{Protocol: "tcp", From: port, To: port, Source: netip.MustParsePrefix(cidr), Description: "Control plane service"}
}

func permission(port int32, cidrs ...string) types.IpPermission {
	p := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port}
	for _, c := range cidrs {
		if netip.MustParsePrefix(c).Addr().Is6() {
			p.Ipv6Ranges = append(p.Ipv6Ranges, types.Ipv6Range{CidrIpv6: &c})
			continue
		}
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: &c})
	}
	return p
}

func pair(protocol string, port int32, group string) types.IpPermission {
	p := types.IpPermission{IpProtocol: &protocol, UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &group}}}
	if port > 0 {
		p.FromPort, p.ToPort = &port, &port
	}
	return p
}

func TestDiff(t *testing.T) {
	for name, c := range map[string]struct {
		want              []Rule
		have              []types.IpPermission
		leave             func(Foreign) bool
		authorize, revoke []string
	}{
		"a new group gets all rules": {
			want: []Rule{rule(443, "10.0.0.0/16"), rule(443, "10.1.0.0/16")}, authorize: []string{"10.0.0.0/16", "10.1.0.0/16"},
		},
		"several networks in one permission are several rules": {
			want: []Rule{rule(443, "10.0.0.0/16"), rule(443, "10.1.0.0/16")}, have: []types.IpPermission{permission(443, "10.1.0.0/16", "10.0.0.0/16")},
		},
		"a network that joins is authorized alone": {
			want: []Rule{rule(443, "10.0.0.0/16"), rule(443, "10.1.0.0/16")}, have: []types.IpPermission{permission(443, "10.0.0.0/16")},
			authorize: []string{"10.1.0.0/16"},
		},
		"a network that leaves is revoked": {
			want: []Rule{rule(443, "10.0.0.0/16")}, have: []types.IpPermission{permission(443, "10.0.0.0/16", "0.0.0.0/0")}, revoke: []string{"0.0.0.0/0"},
		},
		"another port is another rule": {
			want: []Rule{rule(443, "10.0.0.0/16")}, have: []types.IpPermission{permission(6443, "10.0.0.0/16")},
			authorize: []string{"10.0.0.0/16"}, revoke: []string{"10.0.0.0/16"},
		},
		"a network of version 6 is the same in every spelling": {
			want: []Rule{rule(443, "2001:db8::/32")}, have: []types.IpPermission{permission(443, "2001:0db8:0:0::/32")},
		},
		"a source by group or prefix list is revoked": {
			have: []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String("sg-9")}},
				PrefixListIds: []types.PrefixListId{{PrefixListId: aws.String("pl-9")}}}},
			revoke: []string{"pl-9", "sg-9"},
		},
		"a rule for the group itself is compared": {
			want: []Rule{{Protocol: "udp", From: 4789, To: 4789}, {Protocol: "50"}}, have: []types.IpPermission{pair("50", 0, "sg-1")}, authorize: []string{"sg-1"},
		},
		"a rule for another group does not replace it": {
			want: []Rule{{Protocol: "udp", From: 4789, To: 4789}}, have: []types.IpPermission{pair("udp", 4789, "sg-9")},
			authorize: []string{"sg-1"}, revoke: []string{"sg-9"},
		},
		"a rule that the spec leaves to others stays": {
			have:   []types.IpPermission{pair("-1", 0, "sg-9"), permission(80, "0.0.0.0/0")},
			leave:  func(f Foreign) bool { return f.Group == "sg-9" },
			revoke: []string{"0.0.0.0/0"},
		},
		"a network that is wanted twice is authorized once": {
			want: []Rule{rule(443, "10.0.0.0/16"), rule(443, "10.0.0.0/16")}, authorize: []string{"10.0.0.0/16"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(types.SecurityGroup{GroupId: aws.String("sg-1"), IpPermissions: c.have})
			authorize, revoke := diff(Spec{Rules: c.want, Leave: c.leave}, got)
			if d := cmp.Diff([][]string{c.authorize, c.revoke}, [][]string{sources(authorize), sources(revoke)}); d != "" {
				t.Errorf("authorize, revoke: -want +got:\n%s", d)
			}
		})
	}
}

func sources(in []ingress) []string {
	var out []string
	for _, i := range in {
		out = append(out, i.source)
	}
	return out
}

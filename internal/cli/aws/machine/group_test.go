package machine

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func tcp(from, to int32, cidrs ...string) types.IpPermission {
	p := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(from), ToPort: aws.Int32(to)}
	for _, cidr := range cidrs {
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: aws.String(cidr)})
	}
	return p
}

func TestRulesAreDescribedWithTheirSources(t *testing.T) {
	for name, c := range map[string]struct {
		rules []types.IpPermission
		want  string
	}{
		"no rule":                        {nil, "none"},
		"a rule of one source":           {[]types.IpPermission{tcp(3128, 3129, "10.0.0.0/16")}, "tcp 3128-3129 from 10.0.0.0/16"},
		"a rule of two sources":          {[]types.IpPermission{tcp(22, 22, "10.0.0.0/16", "0.0.0.0/0")}, "tcp 22-22 from 0.0.0.0/0, tcp 22-22 from 10.0.0.0/16"},
		"all traffic of a group":         {[]types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String("sg-1")}}}}, "-1 from sg-1"},
		"addresses of IPv6 and of lists": {[]types.IpPermission{{IpProtocol: aws.String("-1"), Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}, PrefixListIds: []types.PrefixListId{{PrefixListId: aws.String("pl-1")}}}}, "-1 from ::/0, -1 from pl-1"},
	} {
		if got := describe(c.rules); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A source that was added to a rule by hand is revoked alone: the rule of the others stays, and connections are not interrupted.
func TestOnlyOtherSourcesAreRevoked(t *testing.T) {
	want := []types.IpPermission{tcp(3128, 3128, "10.0.0.0/16")}
	have := single([]types.IpPermission{tcp(3128, 3128, "10.0.0.0/16", "0.0.0.0/0")})
	if got := describe(without(have, want)); got != "tcp 3128-3128 from 0.0.0.0/0" {
		t.Errorf("revoked: %s", got)
	}
	if got := without(want, have); len(got) > 0 {
		t.Errorf("added: %s", describe(got))
	}
	if got := describe(without(want, nil)); got != "tcp 3128-3128 from 10.0.0.0/16" {
		t.Errorf("added to an empty group: %s", got)
	}
}

package podnetwork

import (
	"net/netip"
	"strings"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestRanges(t *testing.T) {
	four, six := netip.MustParsePrefix("10.132.0.0/14"), netip.MustParsePrefix("fd01::/48")
	for name, c := range map[string]struct {
		entries []hyperv1.ClusterNetworkEntry
		want    Ranges
		err     string
	}{
		"the default":                         {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}, want: Ranges{IPv4: four}},
		"both families, in any order":         {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "fd01::/48"}, {CIDR: "10.132.0.0/14", HostPrefix: 23}}, want: Ranges{IPv4: four, IPv6: six}},
		"a range without bits of the host":    {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.7.1/14"}}, want: Ranges{IPv4: four}},
		"room for one node":                   {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "10.0.1.0/24"}}, want: Ranges{IPv4: netip.MustParsePrefix("10.0.1.0/24")}},
		"no range":                            {err: "has no range"},
		"no CIDR":                             {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0"}}, err: "not a CIDR"},
		"two ranges of one family":            {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}, {CIDR: "10.8.0.0/14"}}, err: "same IP family"},
		"no room for a node":                  {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "10.0.1.0/26"}}, err: "no room"},
		"no room for a node that was chosen":  {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14", HostPrefix: 12}}, err: "no room"},
		"more IPv6 nodes than can be counted": {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "fd01::/32"}}, err: "/48"},
		"a prefix longer than an address":     {entries: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14", HostPrefix: 64}}, err: "/32"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := RangesOf(hyperv1.ClusterNetworking{ClusterNetwork: c.entries})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("the error is %v, not %q", err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

package infra

import (
	"net/netip"
	"strings"
	"testing"
)

func spec() Spec {
	return Spec{
		InfraID: "demo-x7k2p", Name: "demo", Region: "us-east-1", Zones: []string{"us-east-1a", "us-east-1b"}, BaseDomain: "example.com",
		VPCCIDR: netip.MustParsePrefix("10.0.0.0/16"),
	}
}

func TestValidate(t *testing.T) {
	if errs := spec().Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"an infra ID is required":                   {func(s *Spec) { s.InfraID = "" }, "--infra-id: Required value"},
		"an infra ID is part of the names of roles": {func(s *Spec) { s.InfraID = strings.Repeat("a", 33) }, "--infra-id: Too long"},
		"an infra ID is a label":                    {func(s *Spec) { s.InfraID = "Demo_1" }, "--infra-id: Invalid value"},
		"a base domain is a domain":                 {func(s *Spec) { s.BaseDomain = "example com" }, "--base-domain: Invalid value"},
		"a prefix needs a base domain":              {func(s *Spec) { s.BaseDomain, s.BaseDomainPrefix = "", "demo" }, "--base-domain-prefix: Forbidden"},
		"a network has a mask of 16 bits":           {func(s *Spec) { s.VPCCIDR = netip.MustParsePrefix("10.0.0.0/20") }, "--vpc-cidr: Invalid value"},
		"a network has no host bits":                {func(s *Spec) { s.VPCCIDR = netip.MustParsePrefix("10.0.0.1/16") }, "--vpc-cidr: Invalid value"},
		"a network is IPv4":                         {func(s *Spec) { s.VPCCIDR = netip.MustParsePrefix("fd00::/16") }, "--vpc-cidr: Invalid value"},
		"a zone is given once":                      {func(s *Spec) { s.Zones = []string{"us-east-1a", "us-east-1a"} }, "--zones: Duplicate value"},
		"there is room for eight zones":             {func(s *Spec) { s.Zones = strings.Split("1a 1b 1c 1d 1e 1f 1g 1h 1i", " ") }, "--zones: Too many"},
		"public subnets need no NAT gateway":        {func(s *Spec) { s.PublicOnly, s.SingleNATGateway = true, true }, "--single-nat-gateway: Forbidden"},
		"tags of the cluster are reserved":          {func(s *Spec) { s.Tags = map[string]string{"kubernetes.io/cluster/x": "owned"} }, "--additional-tags: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec()
			c.change(&s)
			if err := s.Validate().ToAggregate(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestSubnetsDoNotOverlap(t *testing.T) {
	s := spec()
	s.VPCCIDR = netip.MustParsePrefix("10.7.0.0/16")
	var all []netip.Prefix
	for i := range maxZones {
		for _, private := range []bool{false, true} {
			p := netip.MustParsePrefix(s.subnet(i, private))
			if p != p.Masked() || !s.VPCCIDR.Contains(p.Addr()) {
				t.Errorf("%s is not a network of the VPC", p)
			}
			for _, other := range all {
				if other.Overlaps(p) {
					t.Errorf("%s overlaps with %s", p, other)
				}
			}
			all = append(all, p)
		}
	}
	if got := s.subnet(2, true); got != "10.7.160.0/20" {
		t.Errorf("the third private subnet is %s", got)
	}
}

func TestNamesOfPrivateZones(t *testing.T) {
	for prefix, want := range map[string]string{"": "demo.example.com", "other": "other.example.com", NoPrefix: "example.com"} {
		s := spec()
		s.BaseDomainPrefix = prefix
		if got := s.privateZone(); got != want {
			t.Errorf("prefix %q: %s", prefix, got)
		}
	}
}

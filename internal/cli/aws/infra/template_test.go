package infra

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awstemplate"
)

// Every node of every spec can be translated, and the template can be passed without a bucket.
func TestEverySpecHasATemplate(t *testing.T) {
	zones := func(n int) (all []string) {
		for i := range n {
			all = append(all, "us-east-1"+string(rune('a'+i)))
		}
		return all
	}
	for _, c := range []struct {
		name   string
		change func(*Spec)
	}{
		{"one zone", func(*Spec) {}},
		{"three zones", func(s *Spec) { s.Zones = zones(3) }},
		{"the most zones", func(s *Spec) { s.Zones = zones(maxZones) }},
		{"public only", func(s *Spec) { s.PublicOnly = true }},
		{"one NAT gateway", func(s *Spec) { s.Zones, s.SingleNATGateway = zones(2), true }},
		{"a proxy in the most zones", func(s *Spec) { s.Zones, s.Proxy = zones(maxZones), true }},
	} {
		s := Spec{InfraID: "demo-x7k2p", Name: "demo", BaseDomain: "example.com", Region: "us-east-1", Zones: zones(1), VPCCIDR: netip.MustParsePrefix("10.0.0.0/16")}
		c.change(&s)
		if errs := s.Validate(); len(errs) > 0 {
			t.Fatal(errs)
		}
		text, gaps, err := Template(s).CloudFormation()
		if err != nil {
			t.Errorf("%s, CloudFormation: %v", c.name, err)
		}
		if len(text) > awstemplate.MaxInline {
			t.Errorf("%s: the template has %d bytes", c.name, len(text))
		}
		want := 3
		if s.HasProxy() {
			want++ // tags of the network interface of its instance
		}
		if len(gaps) != want {
			t.Errorf("%s: gaps %v", c.name, gaps)
		}
		module, err := Template(s).Terraform()
		if err != nil {
			t.Errorf("%s, Terraform: %v", c.name, err)
		}
		again, _ := Template(s).Terraform()
		if string(again) != string(module) {
			t.Errorf("%s: two modules differ", c.name)
		}
		for _, text := range []string{string(text), string(module)} {
			if strings.ContainsAny(text, "\uE000\uE001") {
				t.Errorf("%s: a reference is left", c.name)
			}
		}
	}
}

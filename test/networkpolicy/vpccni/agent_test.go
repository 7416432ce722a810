package vpccni

import (
	_ "embed"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/networkpolicy"
)

// agentCases are decisions of the rule processor of aws-network-policy-agent v1.5.0. The program in directory agentcases wrote them.
//
//go:embed testdata/agent.json
var agentCases []byte

func TestTableDecidesAsTheAgentOfEKS(t *testing.T) {
	var file struct {
		Addresses []netip.Addr
		Ports     []Ports
		Cases     []struct {
			Open    string
			Entries []struct {
				CIDR   string
				Except []string
				Ports  []Ports
			}
		}
	}
	if err := json.Unmarshal(agentCases, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("there are no cases")
	}
	for _, c := range file.Cases {
		var entries []Entry
		for _, e := range c.Entries {
			entry := Entry{CIDR: prefix(e.CIDR), Ports: e.Ports}
			for _, x := range e.Except {
				entry.Except = append(entry.Except, prefix(x))
			}
			entries = append(entries, entry)
		}
		table, next := newTable(entries), 0
		for _, address := range file.Addresses {
			for _, p := range file.Ports {
				port := networkpolicy.Port{Protocol: p.Protocol, Number: p.From}
				if got, want := table.allows(address, port), c.Open[next] == '1'; got != want {
					t.Errorf("entries %+v: %s %s %d is open: %v; the agent: %v", c.Entries, address, port.Protocol, port.Number, got, want)
				}
				next++
			}
		}
	}
}

// prefix is a range, or a single address, as PolicyEndpoints have both.
func prefix(text string) netip.Prefix {
	if !strings.Contains(text, "/") {
		return single(netip.MustParseAddr(text))
	}
	return netip.MustParsePrefix(text)
}

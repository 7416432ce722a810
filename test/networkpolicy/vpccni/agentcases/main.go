// Command agentcases prints the decisions of the EKS agent's rule processor for random entries of PolicyEndpoints, for the test that
// compares package vpccni with it. It is a module of its own because the agent needs newer libraries.
//
//	go run . > ../testdata/agent.json
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"

	"github.com/aws/aws-network-policy-agent/api/v1alpha1"
	"github.com/aws/aws-network-policy-agent/pkg/fwruleprocessor"
	"github.com/aws/aws-network-policy-agent/pkg/logger"
	corev1 "k8s.io/api/core/v1"
)

// Numbers of pkg/ebpf/c/tc.v4ingress.bpf.c.
const (
	reserved, any, anyPort = 255, 254, 0
	ports                  = 24
	portLength             = 12
)

// node is in none of the ranges of the cases.
const node = "198.51.100.1"

type entry struct {
	CIDR   string   `json:"cidr"`
	Except []string `json:"except,omitempty"`
	Ports  []port   `json:"ports,omitempty"`
}

type port struct {
	Protocol string `json:"protocol,omitempty"`
	From     int32  `json:"from,omitempty"`
	To       int32  `json:"to,omitempty"`
}

// file holds the cases, and the connections that each of them decides.
type file struct {
	Addresses []string   `json:"addresses"`
	Ports     []port     `json:"ports"`
	Cases     []testcase `json:"cases"`
}

// testcase contains a digit for each address and each port: 1 if the agent opens it.
type testcase struct {
	Open    string  `json:"open"`
	Entries []entry `json:"entries"`
}

var (
	cidrs    = []string{"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "10.1.2.3", "10.1.2.4/32", "10.9.9.9/8", "172.16.0.0/12", "fd00::/8"}
	excepts  = []string{"10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "10.1.2.9/24", "172.16.0.0/12"}
	choices  = []port{{"TCP", 443, 443}, {"TCP", 80, 80}, {"UDP", 53, 53}, {"TCP", 8000, 8100}, {"TCP", 0, 0}, {"UDP", 0, 0}}
	tried    = []string{"10.1.2.3", "10.1.2.4", "10.1.2.5", "10.1.3.1", "10.2.0.1", "172.16.0.1", "203.0.113.7"}
	triedAt  = []port{{"TCP", 443, 443}, {"TCP", 80, 80}, {"UDP", 53, 53}, {"TCP", 8000, 8000}, {"TCP", 8100, 8100}, {"TCP", 8101, 8101}, {"UDP", 9, 9}}
	numberOf = map[string]byte{"TCP": 6, "UDP": 17}
)

func main() {
	logger.New("error", os.DevNull, 1, 1)
	random := rand.New(rand.NewPCG(1, 2))
	var cases []testcase
	for range 400 {
		entries := make([]entry, 1+random.IntN(5))
		for i := range entries {
			entries[i].CIDR = cidrs[random.IntN(len(cidrs))]
			for range random.IntN(3) {
				if e := excepts[random.IntN(len(excepts))]; inside(e, entries[i].CIDR) {
					entries[i].Except = append(entries[i].Except, e)
				}
			}
			for range random.IntN(3) {
				entries[i].Ports = append(entries[i].Ports, choices[random.IntN(len(choices))])
			}
		}
		cases = append(cases, testcase{open(entries), entries})
	}
	text, err := json.Marshal(file{tried, triedAt, cases})
	if err != nil {
		panic(err)
	}
	// A line for each case.
	fmt.Println(strings.ReplaceAll(string(text), `{"open"`, "\n"+`{"open"`))
}

// inside is true if the API server accepts an exception of a range.
func inside(except, cidr string) bool {
	outer, err := netip.ParsePrefix(cidr)
	inner := netip.MustParsePrefix(except)
	return err == nil && outer.Bits() < inner.Bits() && outer.Contains(inner.Addr())
}

func open(entries []entry) string {
	var rules []fwruleprocessor.EbpfFirewallRules
	for _, e := range entries {
		rule := fwruleprocessor.EbpfFirewallRules{IPCidr: v1alpha1.NetworkAddress(e.CIDR)}
		for _, x := range e.Except {
			rule.Except = append(rule.Except, v1alpha1.NetworkAddress(x))
		}
		for _, p := range e.Ports {
			protocol := corev1.Protocol(p.Protocol)
			l4 := v1alpha1.Port{Protocol: &protocol}
			if p.From != 0 {
				l4.Port = &p.From
			}
			if p.To != p.From {
				l4.EndPort = &p.To
			}
			rule.L4Info = append(rule.L4Info, l4)
		}
		rules = append(rules, rule)
	}
	table, err := fwruleprocessor.NewFirewallRuleProcessor(node, "/32", false).ComputeMapEntriesFromEndpointRules(rules)
	if err != nil {
		panic(err)
	}
	var digits strings.Builder
	for _, address := range tried {
		value := lookUp(table, netip.MustParseAddr(address))
		for _, p := range triedAt {
			if allows(value, numberOf[p.Protocol], uint32(p.From)) {
				digits.WriteByte('1')
			} else {
				digits.WriteByte('0')
			}
		}
	}
	return digits.String()
}

// lookUp finds the longest prefix, as the kernel does in a map of type LPM_TRIE.
func lookUp(table map[string][]byte, address netip.Addr) []byte {
	for bits := 32; bits >= 0; bits-- {
		prefix := netip.PrefixFrom(address, bits).Masked().Addr().As4()
		if value, found := table[string(append(binary.LittleEndian.AppendUint32(nil, uint32(bits)), prefix[:]...))]; found {
			return value
		}
	}
	return nil
}

// allows decides as function evaluateNamespacePolicyByLookUp of the program in the kernel.
func allows(value []byte, protocol byte, number uint32) bool {
	for i := range ports {
		if len(value) < (i+1)*portLength {
			return false
		}
		of := func(field int) uint32 { return binary.LittleEndian.Uint32(value[i*portLength+4*field:]) }
		if of(0) == reserved {
			return false
		}
		if (of(0) == any || of(0) == uint32(protocol)) && (of(1) == anyPort || number == of(1) || number > of(1) && number <= of(2)) {
			return true
		}
	}
	return false
}

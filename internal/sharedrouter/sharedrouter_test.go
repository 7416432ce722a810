package sharedrouter

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

const (
	endpointOfA = "vpce-0aaaaaaaaaaaaaaaa"
	endpointOfB = "vpce-0bbbbbbbbbbbbbbbb"
)

// Of two clusters with the same endpoint, the first has it.
func TestOwnersOfEndpoints(t *testing.T) {
	table := Table{Clusters: []Cluster{
		{Namespace: "clusters-a", Endpoints: []string{endpointOfA}},
		{Namespace: "clusters-b", Endpoints: []string{endpointOfA, endpointOfB}},
	}}
	data, _ := table.Data()
	got := Owners(data)
	if len(got) != 2 || got[endpointOfA] != "clusters-a" || got[endpointOfB] != "clusters-b" {
		t.Errorf("got %v", got)
	}
}

// A cluster that takes too much space loses its public host, and no other one does. Its nodes keep their way.
func TestTheLargestClustersAreOmitted(t *testing.T) {
	var table Table
	wide := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/1"), netip.MustParsePrefix("128.0.0.0/1")}
	for i := range 500 {
		name := fmt.Sprintf("clusters-%d", i)
		c := Cluster{
			Namespace: name, API: netip.MustParseAddrPort("10.57.0.1:6443"), PublicHosts: []string{"api." + name + ".example.com"},
			PrivateAPI: []string{"api." + name + ".hypershift.local"}, Endpoints: []string{fmt.Sprintf("vpce-0%016x", i)},
		}
		if i%50 == 0 {
			c.Allowed = wide
		}
		table.Clusters = append(table.Clusters, c)
	}
	if _, omitted := table.Data(); len(omitted) > 0 {
		t.Fatalf("omitted %v", omitted)
	}
	for i := range 20 {
		greedy := Cluster{Namespace: fmt.Sprintf("clusters-greedy-%d", i), API: netip.MustParseAddrPort("10.57.0.1:6443"), PublicHosts: []string{fmt.Sprintf("api.greedy-%d.example.com", i)}, Endpoints: []string{fmt.Sprintf("vpce-1%016x", i)}}
		for n := range 500 {
			greedy.Allowed = append(greedy.Allowed, netip.PrefixFrom(netip.AddrFrom4([4]byte{11 + byte(i), byte(n >> 8), byte(n), 0}), 24))
		}
		table.Clusters = slices.Insert(table.Clusters, 0, greedy)
	}
	data, omitted := table.Data()
	size := 0
	for _, text := range data {
		size += len(text)
	}
	if size > 1<<20 || len(omitted) == 0 || len(Owners(data)) != 520 {
		t.Errorf("%d bytes, %d clusters with an endpoint; omitted %v", size, len(Owners(data)), omitted)
	}
	for _, namespace := range omitted {
		if !strings.HasPrefix(namespace, "clusters-greedy-") {
			t.Errorf("%s is omitted", namespace)
		}
	}
}

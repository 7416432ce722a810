package sharedrouter

import (
	"fmt"
	"net/netip"
	"slices"
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

// A cluster that takes too much space is left out, and no other one.
func TestTheLargestClustersAreOmitted(t *testing.T) {
	var table Table
	for i := range 900 {
		name := fmt.Sprintf("clusters-%d", i)
		table.Clusters = append(table.Clusters, Cluster{
			Namespace: name, PublicHosts: []string{"api." + name + ".example.com"}, PrivateAPI: []string{"api." + name + ".hypershift.local"},
			Endpoints: []string{fmt.Sprintf("vpce-0%016x", i)}, Allowed: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0}), 24)},
		})
	}
	if _, omitted := table.Data(); len(omitted) > 0 {
		t.Fatalf("omitted %v", omitted)
	}
	greedy := Cluster{Namespace: "clusters-greedy", Allowed: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/1"), netip.MustParsePrefix("128.0.0.0/1")}}
	for i := range 498 {
		greedy.Allowed = append(greedy.Allowed, netip.PrefixFrom(netip.AddrFrom4([4]byte{11, byte(i >> 8), byte(i), 0}), 24))
	}
	for i := range 20 {
		more := greedy
		more.Namespace = fmt.Sprintf("clusters-greedy-%d", i)
		table.Clusters = slices.Insert(table.Clusters, 0, more)
	}
	data, omitted := table.Data()
	size := 0
	for _, text := range data {
		size += len(text)
	}
	if size > 1<<20 || len(omitted) == 0 || len(Owners(data)) != 900 {
		t.Errorf("%d bytes, %d clusters with an endpoint; omitted %v", size, len(Owners(data)), omitted)
	}
}

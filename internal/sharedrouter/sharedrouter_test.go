package sharedrouter

import "testing"

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
	got := Owners(table.Data())
	if len(got) != 2 || got[endpointOfA] != "clusters-a" || got[endpointOfB] != "clusters-b" {
		t.Errorf("got %v", got)
	}
}

package balancer

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Status says what one load balancer does.
type Status struct {
	ARN     string       `json:"arn"`
	Name    string       `json:"name"`
	Host    string       `json:"host"`
	Address netip.Addr   `json:"address"`
	Ports   []PortStatus `json:"ports"`
}

// PortStatus says where the connections to a port go.
type PortStatus struct {
	Port    uint16         `json:"port"`
	Targets []TargetStatus `json:"targets"`
}

// TargetStatus says how a target is.
type TargetStatus struct {
	ID          string         `json:"id"`
	Address     netip.AddrPort `json:"address"`
	Healthy     bool           `json:"healthy"`
	Connections int            `json:"connections"`
}

// Snapshot says what there is now, in the order of names.
func (b *Balancer) Snapshot() []Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Status
	for arn, lb := range b.active {
		s := Status{ARN: arn, Name: lb.name, Host: lb.host, Address: lb.address}
		for _, port := range slices.Sorted(maps.Keys(lb.listeners)) {
			s.Ports = append(s.Ports, PortStatus{Port: port, Targets: lb.listeners[port].group.Load().snapshot()})
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (g *group) snapshot() []TargetStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []TargetStatus
	for _, id := range slices.Sorted(maps.Keys(g.targets)) {
		t := g.targets[id]
		t.mu.Lock()
		all = append(all, TargetStatus{ID: id, Address: t.address, Healthy: t.healthy, Connections: t.holders})
		t.mu.Unlock()
	}
	return all
}

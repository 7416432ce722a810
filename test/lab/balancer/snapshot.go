package balancer

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Status is the state of one load balancer.
type Status struct {
	ARN     string       `json:"arn"`
	Name    string       `json:"name"`
	Host    string       `json:"host"`
	Address netip.Addr   `json:"address"`
	Ports   []PortStatus `json:"ports"`
}

// PortStatus is the state of a port.
type PortStatus struct {
	Port    uint16         `json:"port"`
	Targets []TargetStatus `json:"targets"`
}

// TargetStatus is the state of a target.
type TargetStatus struct {
	ID          string         `json:"id"`
	Address     netip.AddrPort `json:"address"`
	Healthy     bool           `json:"healthy"`
	Connections int            `json:"connections"`
}

// Snapshot returns the current state, sorted by name.
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

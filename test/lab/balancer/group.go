package balancer

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// group is a target group.
type group struct {
	o *Options

	mu sync.Mutex
	// preserves: targets get the addresses of clients.
	preserves bool
	// proxyProtocol: each connection begins with a header of the PROXY protocol.
	proxyProtocol bool
	targets       map[string]*target
	turn          int
}

func newGroup(o *Options) *group { return &group{o: o, targets: map[string]*target{}} }

// update sets the targets to the spec's targets. It keeps forwarding to deregistered targets until their connections have
// ended.
func (g *group) update(ctx context.Context, wg *sync.WaitGroup, spec groupSpec) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.preserves, g.proxyProtocol = spec.preserves, spec.proxyProtocol
	for id, t := range g.targets {
		if wanted, stays := spec.targets[id]; !stays || wanted != t.targetSpec {
			close(t.left)
			delete(g.targets, id)
		}
	}
	for id, wanted := range spec.targets {
		if g.targets[id] == nil {
			t := newTarget(wanted, g.o)
			g.targets[id] = t
			wg.Go(func() { t.run(ctx) })
		}
	}
}

// announces reports whether each connection begins with a header of the PROXY protocol.
func (g *group) announces() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proxyProtocol
}

// pick returns the healthy targets in turn. If none is healthy, it returns all in turn, like AWS, because the health
// checks may be wrong. It returns nil without targets. A load balancer without cross-zone balancing only knows the targets in
// the zone of the client: https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html
func (g *group) pick(zone string) *target {
	g.mu.Lock()
	defer g.mu.Unlock()
	var healthy, all []*target
	for _, id := range slices.Sorted(maps.Keys(g.targets)) {
		t := g.targets[id]
		if zone != "" && g.o.Zone != nil && g.o.Zone(t.vpc, t.address.Addr()) != zone {
			continue
		}
		all = append(all, t)
		if t.well() {
			healthy = append(healthy, t)
		}
	}
	if len(healthy) == 0 {
		healthy = all
	}
	if len(healthy) == 0 {
		return nil
	}
	g.turn++
	return healthy[g.turn%len(healthy)]
}

// loops reports whether the target is the machine of the client, which gets packets from its own address and drops them:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-troubleshooting.html
func (g *group) loops(vpc string, client netip.Addr, t *target) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.preserves || vpc == "" || g.o.Instance == nil {
		return false
	}
	instance := g.o.Instance(vpc, client)
	return instance != "" && instance == g.o.Instance(t.vpc, t.address.Addr())
}

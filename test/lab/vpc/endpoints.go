package vpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// Entry is a network interface of an endpoint or of a load balancer: clients that connect to it reach a load balancer.
type Entry struct {
	// ID is the interface's id, Balancer the ARN of the load balancer.
	ID, Balancer string
	// Zone is the id of the zone in which the load balancer has to look for targets; empty for all.
	Zone    string
	Address netip.Addr
	Router  *Router
	// VPC is set if clients are in the VPC of the load balancer.
	VPC string
	// PrivateLink: clients come through an endpoint. The rules of the load balancer's security groups apply to their addresses, which is
	// the default of AWS. No program here sets the attribute that lets them all in:
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-security-groups.html
	PrivateLink bool
	// Endpoint is the id of the endpoint through which clients come, or empty.
	Endpoint string
}

// Listen listens on a port of the interface.
func (e Entry) Listen(port uint16) (*net.TCPListener, error) {
	l, err := e.Router.Listen(netip.AddrPortFrom(e.Address, port))
	if err != nil || !e.PrivateLink {
		return l, err
	}
	if err := limitSegments(l, endpointMTU); err != nil {
		return nil, errors.Join(fmt.Errorf("limiting the segments of %s: %w", e.ID, err), l.Close())
	}
	return l, nil
}

// Entries are the interfaces of all load balancers, and of all endpoints that are connected: the endpoint is available, the service
// still allows its creator, and serves the zone of the interface.
func (n *Network) Entries() []Entry {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append(n.endpointEntries(), n.balancerEntries()...)
}

func (n *Network) balancerEntries() []Entry {
	var all []Entry
	for _, b := range n.now.Balancers {
		c := n.vpcs[b.VPC]
		if c == nil {
			continue
		}
		for _, i := range n.now.Interfaces {
			if !i.Of(b) {
				continue
			}
			e := Entry{ID: i.ID, Balancer: b.ARN, Zone: n.zoneOf(i), Address: i.Address, Router: c.Router, VPC: b.VPC}
			if b.CrossZone {
				e.Zone = ""
			}
			all = append(all, e)
		}
	}
	return all
}

func (n *Network) endpointEntries() []Entry {
	interfaces := map[string]awsemulator.NetworkInterface{}
	for _, i := range n.now.Interfaces {
		interfaces[i.ID] = i
	}
	crossZone := map[string]bool{}
	for _, b := range n.now.Balancers {
		crossZone[b.ARN] = b.CrossZone
	}
	var all []Entry
	for _, e := range n.now.Endpoints {
		c := n.vpcs[e.VPC]
		if c == nil || e.State != "available" || !e.Allowed || len(e.Balancers) == 0 {
			continue
		}
		for _, id := range e.Interfaces {
			i, there := interfaces[id]
			zone := n.zoneOf(i)
			if !there || !slices.Contains(e.ZoneIDs, zone) {
				continue
			}
			entry := Entry{ID: id, Balancer: e.Balancers[0], Zone: zone, Address: i.Address, Router: c.Router, PrivateLink: true, Endpoint: e.ID}
			if crossZone[entry.Balancer] {
				entry.Zone = ""
			}
			all = append(all, entry)
		}
	}
	return all
}

func (n *Network) zoneOf(i awsemulator.NetworkInterface) string {
	for _, s := range n.now.Subnets {
		if s.ID == i.Subnet {
			return s.ZoneID
		}
	}
	return ""
}

// Allows reports whether the security groups of a load balancer let a client of an endpoint come to a port. A load balancer without
// groups accepts everything. The addresses of groups belong to another VPC.
func (n *Network) Allows(balancer string, client netip.Addr, port uint16) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	grouped := false
	for _, i := range n.now.Interfaces {
		if !i.Of(awsemulator.Balancer{ARN: balancer}) {
			continue
		}
		for _, g := range n.now.Groups {
			if !slices.Contains(i.Groups, g.ID) {
				continue
			}
			grouped = true
			if slices.ContainsFunc(g.Ingress, func(r awsemulator.SecurityGroupRule) bool { return admits(r, client, int(port)) }) {
				return true
			}
		}
	}
	return !grouped
}

// admits reports whether a rule lets an address come to a port of TCP.
func admits(r awsemulator.SecurityGroupRule, client netip.Addr, port int) bool {
	cidr, err := netip.ParsePrefix(r.CIDR)
	if err != nil || !cidr.Contains(client) {
		return false // err: it is a rule for a group
	}
	switch r.Protocol {
	case "-1":
		return true
	case "tcp", "6":
		return r.From <= port && port <= r.To || r.From < 0
	}
	return false
}

// Instance returns the id of the instance with an address in a VPC, or with a pod at that address.
func (n *Network) Instance(vpc string, address netip.Addr) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, i := range n.now.Interfaces {
		if i.VPC == vpc && i.Instance != "" && (i.Address == address || slices.ContainsFunc(n.pods[i.Instance], func(p netip.Prefix) bool { return p.Contains(address) })) {
			return i.Instance
		}
	}
	return ""
}

// Zone returns the id of the zone of an address in a VPC.
func (n *Network) Zone(vpc string, address netip.Addr) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.zoneAt(vpc, address)
}

func (n *Network) zoneAt(vpc string, address netip.Addr) string {
	for _, s := range n.now.Subnets {
		if s.VPC == vpc && s.CIDR.Contains(address) {
			return s.ZoneID
		}
	}
	return ""
}

// Dial connects a load balancer in a VPC, by its ARN, to a target there, from one of its interfaces: the first one in the zone of the
// target, or else of any zone.
func (n *Network) Dial(ctx context.Context, vpc, balancer string, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	c, from := n.vpcs[vpc], n.interfaceFor(vpc, balancer, to.Addr())
	n.mu.Unlock()
	if c == nil || !from.IsValid() {
		return nil, fmt.Errorf("load balancer %s has no interface in %s", balancer, vpc)
	}
	return c.DialContext(ctx, from, to)
}

// interfaceFor returns the address of the interface from which a load balancer connects to a target.
func (n *Network) interfaceFor(vpc, balancer string, target netip.Addr) (address netip.Addr) {
	for _, i := range n.now.Interfaces {
		if i.VPC != vpc || !i.Of(awsemulator.Balancer{ARN: balancer}) {
			continue
		}
		if n.zoneOf(i) == n.zoneAt(vpc, target) {
			return i.Address
		}
		if !address.IsValid() {
			address = i.Address
		}
	}
	return address
}

// Accounts are the accounts of customers that have VPCs.
func (n *Network) Accounts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := map[string]bool{}
	for _, v := range n.now.VPCs {
		if v.Account != n.o.Management {
			all[v.Account] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

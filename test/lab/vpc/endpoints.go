package vpc

import (
	"net/netip"
	"slices"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// Entry is a network interface of an endpoint: clients that connect to it reach a load balancer.
type Entry struct {
	// ID is that of the interface, Balancer the ARN of the load balancer.
	ID, Balancer string
	// Zone is the id of the zone in which the load balancer has to look for targets; empty for all.
	Zone    string
	Address netip.Addr
	Router  *Router
}

// Entries are the interfaces of all endpoints that are connected: the endpoint is available, the service still allows its
// creator, and serves the zone of the interface.
func (n *Network) Entries() []Entry {
	n.mu.Lock()
	defer n.mu.Unlock()
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
			entry := Entry{ID: id, Balancer: e.Balancers[0], Zone: zone, Address: i.Address, Router: c.Router}
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

// ManagementZone returns the id of the zone in which the management account has an address.
func (n *Network) ManagementZone(address netip.Addr) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range n.now.VPCs {
		for _, s := range n.now.Subnets {
			if v.Account == n.o.Management && s.VPC == v.ID && s.CIDR.Contains(address) {
				return s.ZoneID
			}
		}
	}
	return ""
}

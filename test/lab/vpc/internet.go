package vpc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/vishvananda/netlink"

	"github.com/hosted-control-planes/hypershift/test/lab/nftables"
)

// Each VPC is linked to the internet with two addresses of their own: 100.64.0.0/10 is for carriers, and a VPC should not use it.
func internetAddresses(number int) (inside, outside netip.Addr) {
	base := [4]byte{100, 64, byte(number >> 6), byte(number << 2)}
	inside, outside = netip.AddrFrom4(base), netip.AddrFrom4(base)
	return inside.Next().Next(), outside.Next()
}

// maxRouters is the number of VPCs for which there are links.
const maxRouters = 1 << 14

// outsideLinks is the prefix of the names of the links in the network of the lab.
const outsideLinks = "vpc"

func outsideLink(number int) string { return outsideLinks + strconv.Itoa(number) }

// connectInternet makes the link between the router and the network of this process.
func (r *Router) connectInternet() error {
	within, outside := internetAddresses(r.number)
	name := outsideLink(r.number)
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, MTU: internetMTU}, PeerName: internetLink, PeerMTU: internetMTU, PeerNamespace: netlink.NsFd(int(r.namespace))}
	if err := netlink.LinkAdd(cable); err != nil {
		return fmt.Errorf("laying cable %s: %w", name, err)
	}
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = errors.Join(netlink.AddrAdd(l, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(outside, 30))}), netlink.LinkSetUp(l))
	}
	if err != nil {
		return fmt.Errorf("setting %s up: %w", name, err)
	}
	inner, err := r.links.LinkByName(internetLink)
	if err == nil {
		err = errors.Join(
			r.links.AddrAdd(inner, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(within, 30))}),
			r.links.LinkSetUp(inner),
		)
	}
	if err == nil {
		err = r.links.RouteAdd(&netlink.Route{Gw: outside.AsSlice()})
	}
	if err != nil {
		return fmt.Errorf("connecting %s to the internet: %w", r.ID, err)
	}
	return nil
}

// internet limits the access of VPCs to this process's network.
type internet struct{ table *nftables.Writer }

func newInternet() (*internet, error) {
	table, err := nftables.NewWriter("internet", "what the VPCs of customers reach")
	return &internet{table: table}, err
}

// open opens the way to services with a port, and to all ports of public load balancers. No packet is forwarded: the machines
// of the management cluster are not on the internet.
func (i *internet) open(ctx context.Context, services []netip.AddrPort, balancers []netip.Addr) error {
	t := nftables.NewTable()
	t.Sets["services"], t.Sets["balancers"] = nftables.NewSet("ipv4_addr . inet_service"), nftables.NewSet("ipv4_addr")
	for _, s := range services {
		t.Sets["services"].Elements[s.Addr().String()+" . "+strconv.Itoa(int(s.Port()))] = ""
	}
	for _, b := range balancers {
		t.Sets["balancers"].Elements[b.String()] = ""
	}
	fromVPC := fmt.Sprintf("iifname \"%s*\" ", outsideLinks)
	t.Chains["input"] = nftables.Chain{Hook: "input", Priority: "0", Rules: []string{
		fromVPC + "ct direction reply accept",
		fromVPC + "ip daddr . tcp dport @services accept",
		fromVPC + "ip daddr @balancers accept",
		fromVPC + "counter drop",
	}}
	t.Chains["forward"] = nftables.Chain{Hook: "forward", Priority: "0", Rules: []string{
		fromVPC + "counter drop", fmt.Sprintf("oifname \"%s*\" counter drop", outsideLinks),
	}}
	return i.table.Write(ctx, t)
}

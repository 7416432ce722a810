package cluster

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
)

// routed are the networks that the host reaches through the uplink.
var routed = []string{MachineNetwork, PodNetwork, BalancerNetwork}

// plugIn creates a veth pair from the host into the lab with the given pid 1. It needs neither forwarding nor firewall
// rules: only packets of the host itself enter the lab, and the lab reaches only the host. The link and its routes end
// with the lab.
func plugIn(pid int, dir string) error {
	if err := unrouted(); err != nil {
		return err
	}
	// The alias shows users the purpose of the link.
	link := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: hostLink, Alias: dir},
		PeerName:      UplinkName,
		PeerNamespace: netlink.NsPid(pid),
	}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("creating the link into the lab: %w", err)
	}
	address, err := netlink.ParseAddr(hostAddress)
	if err != nil {
		return fmt.Errorf("connecting the host to the lab: %w", err)
	}
	if err := errors.Join(netlink.LinkSetAlias(link, dir), netlink.AddrAdd(link, address), netlink.LinkSetUp(link)); err != nil {
		return fmt.Errorf("connecting the host to the lab: %w", err)
	}
	gateway, _, err := net.ParseCIDR(UplinkAddress)
	if err != nil {
		return fmt.Errorf("connecting the host to the lab: %w", err)
	}
	for _, network := range routed {
		_, destination, err := net.ParseCIDR(network)
		if err == nil {
			err = netlink.RouteAdd(&netlink.Route{Dst: destination, Gw: gateway})
		}
		if err != nil {
			return fmt.Errorf("routing %s into the lab: %w", network, err)
		}
	}
	return nil
}

// unrouted checks that the addresses of a lab are not in use.
func unrouted() error {
	if other, err := netlink.LinkByName(hostLink); err == nil {
		return fmt.Errorf("another lab runs on this host, in %s: take it down first (lab down --dir ...)", other.Attrs().Alias)
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("reading the routes of the host: %w", err)
	}
	for _, network := range append(slices.Clone(routed), ServiceNetwork, hostAddress) {
		_, ours, err := net.ParseCIDR(network)
		if err != nil {
			return fmt.Errorf("reading the networks of the lab: %w", err)
		}
		for _, r := range routes {
			if ones := prefix(r.Dst); ones > 0 && (r.Dst.Contains(ours.IP) || ours.Contains(r.Dst.IP)) {
				return fmt.Errorf("the lab needs %s, and the host has a route to %s", network, r.Dst)
			}
		}
	}
	return nil
}

// prefix is the prefix length of a network; 0 is the default route.
func prefix(n *net.IPNet) int {
	if n == nil {
		return 0
	}
	ones, _ := n.Mask.Size()
	return ones
}

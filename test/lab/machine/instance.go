package machine

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// mountImage makes /etc and /opt of an instance writable. The rest of its image is the host's file system.
func mountImage(s Spec) error {
	if s.Instance == nil {
		return nil
	}
	if err := namespace.Overlay(s.path("etc"), "/etc"); err != nil {
		return err
	}
	return namespace.Cover(s.path("opt"), "/opt", s.Lab)
}

// connectInstance configures routes as in a VPC: the machine has an address of a subnet, and everything else is behind the
// router.
func connectInstance(s Spec) error {
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return fmt.Errorf("finding its link eth0: %w", err)
	}
	router := net.ParseIP(s.Gateway)
	for _, route := range []netlink.Route{
		{LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: router, Mask: net.CIDRMask(32, 32)}, Scope: netlink.SCOPE_LINK},
		{LinkIndex: link.Attrs().Index, Gw: router},
	} {
		if err := netlink.RouteAdd(&route); err != nil {
			return fmt.Errorf("routing through %s: %w", s.Gateway, err)
		}
	}
	return nil
}

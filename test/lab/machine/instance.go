package machine

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/test/lab/vpc"
)

// connectToVPC configures routes as in a VPC: the machine uses an address of a subnet, and reaches everything else through the router.
// By IPv6 it reaches only the metadata service.
func connectToVPC(s Spec) error {
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return fmt.Errorf("finding its link eth0: %w", err)
	}
	local := &netlink.Addr{IPNet: &net.IPNet{IP: vpc.InstanceLinkLocal.AsSlice(), Mask: net.CIDRMask(64, 128)}, Flags: unix.IFA_F_NODAD}
	if err := netlink.AddrAdd(link, local); err != nil {
		return fmt.Errorf("giving eth0 address %s: %w", vpc.InstanceLinkLocal, err)
	}
	router := net.ParseIP(s.Gateway)
	for _, route := range []netlink.Route{
		{LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: router, Mask: net.CIDRMask(32, 32)}, Scope: netlink.SCOPE_LINK},
		{LinkIndex: link.Attrs().Index, Gw: router},
		{LinkIndex: link.Attrs().Index, Dst: linkLocalServices, Gw: vpc.RouterLinkLocal.AsSlice()},
	} {
		if err := netlink.RouteAdd(&route); err != nil {
			return fmt.Errorf("routing through %s: %w", route.Gw, err)
		}
	}
	return nil
}

// linkLocalServices are the addresses of services of EC2 for IPv6, fd00:ec2::/32.
var linkLocalServices = &net.IPNet{IP: net.ParseIP("fd00:ec2::"), Mask: net.CIDRMask(32, 128)}

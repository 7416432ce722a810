package vpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/test/lab/nftables"
)

// A Router is the network namespace of a VPC.
type Router struct {
	// ID is the VPC's id.
	ID        string
	number    int // of its link to the internet
	namespace netns.NsHandle
	links     *netlink.Handle
	table     *nftables.Writer
	// added are the addresses of the router in addition to the lab's.
	added map[netip.Addr]bool
	// management: the namespace is this process's namespace, and source the address of its connections to instances.
	management bool
	source     netip.Addr
}

// routerLink carries the addresses of the router.
const routerLink = "lo"

// newRouter makes the namespace of a VPC, with its link to the internet: number n of all.
func newRouter(id string, number int) (_ *Router, err error) {
	r := &Router{ID: id, number: number, namespace: netns.None(), added: map[netip.Addr]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("making the network of %s: %w", id, err), r.close())
		}
	}()
	if r.namespace, err = newNamespace(); err != nil {
		return nil, err
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, errors.Join(r.forward(), r.up(routerLink), r.connectInternet())
}

// newManagementRouter is the router of the management VPC, in the network of this process.
func newManagementRouter(id string, source netip.Addr) (*Router, error) {
	here, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("making the network of %s: %w", id, err)
	}
	r := &Router{ID: id, namespace: here, added: map[netip.Addr]bool{}, management: true, source: source}
	if err := errors.Join(r.open(), r.forward()); err != nil {
		return nil, errors.Join(fmt.Errorf("making the network of %s: %w", id, err), r.close())
	}
	return r, nil
}

// open opens the interfaces to the kernel.
func (r *Router) open() (err error) {
	if r.links, err = netlink.NewHandleAt(r.namespace, unix.NETLINK_ROUTE); err != nil {
		return err
	}
	r.table, err = nftables.NewWriter("vpc", r.ID)
	return err
}

func newNamespace() (ns netns.NsHandle, err error) {
	here, err := netns.Get()
	if err != nil {
		return netns.None(), err
	}
	defer func() { _ = here.Close() }() // no write can be lost
	err = inside(here, func() error {
		ns, err = netns.New()
		return err
	})
	return ns, err
}

func (r *Router) forward() error {
	return r.inside(func() error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
	})
}

func (r *Router) up(names ...string) error {
	for _, name := range names {
		l, err := r.links.LinkByName(name)
		if err == nil {
			err = r.links.LinkSetUp(l)
		}
		if err != nil {
			return fmt.Errorf("setting %s up: %w", name, err)
		}
	}
	return nil
}

// Sizes of packets in bytes: of current instance types in a VPC, of the internet, and of endpoints. An endpoint drops larger ones, and
// limits the segments of TCP, so that there are none:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/network_mtu.html
// https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html
const (
	instanceMTU = 9001
	internetMTU = 1500
	endpointMTU = 8500
)

// plug makes the link to an instance: eth0 in the namespace of the process.
func (r *Router) plug(name string, pid int) error {
	r.unplug(name) // the kernel removes the link of a machine some time after its end
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, MTU: instanceMTU}, PeerName: "eth0", PeerMTU: instanceMTU, PeerNamespace: netlink.NsPid(pid)}
	if err := r.links.LinkAdd(cable); err != nil {
		return fmt.Errorf("laying cable %s of %s: %w", name, r.ID, err)
	}
	err := r.links.AddrAdd(cable, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(RouterLinkLocal, 64)), Flags: unix.IFA_F_NODAD})
	return errors.Join(err, r.up(name))
}

func (r *Router) unplug(name string) {
	if l, err := r.links.LinkByName(name); err == nil {
		_ = r.links.LinkDel(l) // it may end by itself
	}
}

// apply makes the kernel forward as the state says. Links of instances come and go with plug.
func (r *Router) apply(ctx context.Context, s state) error {
	routes, own := wantedRoutes(s)
	return errors.Join(
		r.inside(func() error { return r.table.Write(ctx, render(s)) }),
		r.setAddresses(own),
		r.setRoutes(routes),
	)
}

// wantedRoutes returns the routes over links (of addresses and pod ranges, with the address of the instance), and the addresses of the
// router.
func wantedRoutes(s state) (routes map[netip.Prefix]route, own map[netip.Addr]bool) {
	own = map[netip.Addr]bool{metadataAddress: true, dnsAddress: true, s.resolver(): true}
	for _, subnet := range s.subnets {
		own[gateway(subnet.CIDR)] = true
	}
	routes = map[netip.Prefix]route{}
	if s.management {
		for _, address := range credentialServices {
			own[address] = true
		}
	} else {
		for _, cidr := range s.CIDRs {
			routes[cidr.Masked()] = route{} // an unused address does not respond
		}
	}
	for _, i := range s.interfaces {
		if i.Instance == "" {
			own[i.Address] = true
			continue
		}
		routes[netip.PrefixFrom(i.Address, 32)] = route{link: link(i)}
		for _, pods := range s.pods[i.Instance] {
			via := i.Address
			if pods.Addr().Is6() {
				via = InstanceLinkLocal
			}
			routes[pods.Masked()] = route{link: link(i), via: via}
		}
	}
	return routes, own
}

// route leads to a link, or nowhere.
type route struct {
	link string
	via  netip.Addr
}

// byUs marks the routes of this package, so that the routes of the kernel and of the lab are kept.
const byUs netlink.RouteProtocol = 56

// The link-local addresses of both ends of the link of an instance. Pods have addresses of IPv6, which VPCs of the lab do not route
// further.
var (
	RouterLinkLocal   = netip.MustParseAddr("fe80::1")
	InstanceLinkLocal = netip.MustParseAddr("fe80::2")
)

func (r *Router) setAddresses(want map[netip.Addr]bool) error {
	l, err := r.links.LinkByName(routerLink)
	if err != nil {
		return fmt.Errorf("finding link %s: %w", routerLink, err)
	}
	have, err := r.links.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("reading the addresses of %s: %w", r.ID, err)
	}
	var errs []error
	there := map[netip.Addr]bool{}
	for _, a := range have {
		address, _ := netip.AddrFromSlice(a.IP)
		address = address.Unmap()
		there[address] = true
		if !want[address] && r.added[address] {
			errs = append(errs, r.links.AddrDel(l, &a))
			delete(r.added, address)
		}
	}
	for address := range want {
		if !there[address] {
			a := &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(address, address.BitLen()))}
			if address.Is6() {
				a.Flags = unix.IFA_F_NODAD // servers listen on it at once
			}
			errs = append(errs, r.links.AddrAdd(l, a))
			r.added[address] = true
		}
	}
	return errors.Join(errs...)
}

func (r *Router) setRoutes(want map[netip.Prefix]route) error {
	have, err := r.links.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Protocol: byUs}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("reading the routes of %s: %w", r.ID, err)
	}
	var errs []error
	for _, old := range have {
		if _, wanted := want[prefix(old.Dst)]; !wanted {
			errs = append(errs, r.links.RouteDel(&old))
		}
	}
	for destination, to := range want {
		n := &netlink.Route{Dst: ipNet(destination), Protocol: byUs, Type: unix.RTN_BLACKHOLE}
		if to.link != "" {
			l, err := r.links.LinkByName(to.link)
			if err != nil {
				continue // the machine is off
			}
			n.Type, n.LinkIndex, n.Scope = unix.RTN_UNICAST, l.Attrs().Index, netlink.SCOPE_LINK
			if r.source.IsValid() && destination.Addr().Is4() {
				n.Src = r.source.AsSlice()
			}
			if to.via.IsValid() {
				n.Gw, n.Flags, n.Scope = to.via.AsSlice(), int(netlink.FLAG_ONLINK), netlink.SCOPE_UNIVERSE
			}
		}
		if err := r.links.RouteReplace(n); err != nil {
			errs = append(errs, fmt.Errorf("routing %s in %s: %w", destination, r.ID, err))
		}
	}
	return errors.Join(errs...)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func prefix(n *net.IPNet) netip.Prefix {
	if n == nil {
		return netip.Prefix{}
	}
	address, _ := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(address.Unmap(), bits)
}

// close removes the links of the VPC, and its namespace when it is no longer used.
func (r *Router) close() error {
	if !r.namespace.IsOpen() {
		return nil
	}
	var errs []error
	if r.links != nil {
		all, err := r.links.LinkList()
		errs = append(errs, err)
		for _, l := range all {
			if l.Type() == "veth" && (!r.management || strings.HasPrefix(l.Attrs().Name, instanceLinks)) {
				errs = append(errs, r.links.LinkDel(l))
			}
		}
		if r.management {
			errs = append(errs, r.setRoutes(nil), r.setAddresses(nil), r.table.Write(context.Background(), nftables.NewTable()))
		}
		r.links.Close()
	}
	return errors.Join(append(errs, r.namespace.Close())...)
}

package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// switchName is the bridge that connects the machines that are not in a VPC.
const switchName = "switch"

// layNetwork creates the switch, and configures the lab's end of the link to the host.
func layNetwork() error {
	_, machines, err := net.ParseCIDR(cluster.MachineNetwork)
	if err != nil {
		return fmt.Errorf("laying the network: %w", err)
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: switchName}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("making the switch: %w", err)
	}
	for name, addresses := range map[string][]*net.IPNet{
		"lo":               nil,
		switchName:         {{IP: net.ParseIP(cluster.SwitchAddress), Mask: machines.Mask}, {IP: net.ParseIP(cluster.APIServerAddress), Mask: machines.Mask}},
		cluster.UplinkName: {parse(cluster.UplinkAddress)},
	} {
		link, err := netlink.LinkByName(name)
		for _, address := range addresses {
			if err == nil {
				err = netlink.AddrAdd(link, &netlink.Addr{IPNet: address})
			}
		}
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("setting %s up: %w", name, err)
		}
	}
	// All addresses of load balancers are local: a listener need not add its address first.
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.RouteAdd(&netlink.Route{
			LinkIndex: lo.Attrs().Index, Dst: parse(cluster.BalancerNetwork),
			Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST,
		})
	}
	if err != nil {
		return fmt.Errorf("routing %s to ourselves: %w", cluster.BalancerNetwork, err)
	}
	// Forward between the switch, the uplink and VPCs: machines on the switch find machines in the management VPC, which uses the
	// same network. The settings affect only the network namespace of the lab.
	for _, setting := range []string{"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/conf/" + switchName + "/proxy_arp"} {
		if err := os.WriteFile(setting, []byte("1"), 0o644); err != nil {
			return fmt.Errorf("forwarding: %w", err)
		}
	}
	return nil
}

// parse parses an address with its prefix from a constant.
func parse(address string) *net.IPNet {
	ip, network, err := net.ParseCIDR(address)
	if err != nil {
		panic(err)
	}
	return &net.IPNet{IP: ip, Mask: network.Mask}
}

// plugIn creates the veth pair from a port of the switch to the machine with the given pid 1.
func plugIn(port string, pid int) error {
	bridge, err := netlink.LinkByName(switchName)
	if err != nil {
		return fmt.Errorf("finding the switch: %w", err)
	}
	cable := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: port, MasterIndex: bridge.Attrs().Index},
		PeerName:      "eth0",
		PeerNamespace: netlink.NsPid(pid),
	}
	if err := netlink.LinkAdd(cable); err != nil {
		return fmt.Errorf("laying cable %s: %w", port, err)
	}
	if err := netlink.LinkSetUp(cable); err != nil {
		return fmt.Errorf("setting %s up: %w", port, err)
	}
	return nil
}

// unplug removes a port. The kernel removes it too, some time after the machine has ended.
func unplug(port string) error {
	cable, err := netlink.LinkByName(port)
	if err != nil {
		return nil //nolint:nilerr // it is gone
	}
	if err := netlink.LinkDel(cable); err != nil && !errors.Is(err, os.ErrNotExist) {
		if _, err := netlink.LinkByName(port); err == nil {
			return fmt.Errorf("removing cable %s", port)
		}
	}
	return nil
}

// Numbers of machines are the last bytes of their addresses.
const firstHost, lastHost = 11, 250

// nextHost is the next unused number after the last one. A released number is reused late, because clients may still
// connect to its previous machine.
func nextHost(last int, taken []int) (int, error) {
	for range lastHost - firstHost + 1 {
		if last++; last > lastHost || last < firstHost {
			last = firstHost
		}
		if !slices.Contains(taken, last) {
			return last, nil
		}
	}
	return 0, errors.New("all addresses for machines are taken")
}

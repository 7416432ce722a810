package networkpolicy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	corev1 "k8s.io/api/core/v1"
)

const bridge = "cni0"

// tryFor is how long an answer is waited for. On a host that is busy it may take longer: what should pass is tried again, tries times.
const (
	tryFor = 250 * time.Millisecond
	tries  = 20
)

// network is that of the cases, in network namespaces of its own: node n1, its pods behind a bridge, and the rest of the world.
type network struct {
	t      *testing.T
	places map[string][]netip.Addr
	spaces map[string]netns.NsHandle
	writer *writer
}

// newNetwork makes that of the cases.
func newNetwork(t *testing.T) *network {
	t.Helper()
	return makeNetwork(t, places, "x/a", "x/b", "y/a")
}

// makeNetwork makes one with these pods on n1. It needs root and a kernel with nftables and br_netfilter.
func makeNetwork(t *testing.T, places map[string][]netip.Addr, pods ...string) *network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("there is no nft: apt-get install nftables")
	}
	if _, err := os.Stat("/proc/sys/net/bridge"); err != nil {
		t.Skip("the kernel has no br_netfilter: modprobe br_netfilter")
	}
	n := &network{t: t, places: places, spaces: map[string]netns.NsHandle{}}
	all := append([]string{"n1", "world"}, pods...)
	for _, name := range all {
		n.spaces[name] = n.space()
	}
	n.inside("n1", func() error {
		for path, text := range map[string]string{
			"/proc/sys/net/ipv4/ip_forward": "1", "/proc/sys/net/ipv6/conf/all/forwarding": "1",
			"/proc/sys/net/bridge/bridge-nf-call-iptables": "1", "/proc/sys/net/bridge/bridge-nf-call-ip6tables": "1",
		} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
		}
		return errors.Join(
			netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridge}}),
			address(bridge, "10.0.0.1/24", "fd00::1/64"),
			address("lo", "169.254.169.254/32", "fd00:ec2::254/128"),
		)
	})
	for i, pod := range pods {
		n.cable(pod, fmt.Sprintf("veth%d", i), bridge)
		n.inside(pod, func() error {
			return errors.Join(address("eth0", places[pod][0].String()+"/24", places[pod][1].String()+"/64"), address("lo"), route("", "10.0.0.1"), route("", "fd00::1"))
		})
	}
	n.cable("world", "eth0", "")
	n.inside("n1", func() error {
		return errors.Join(address("eth0", "192.168.0.1/24", "fd01::1/64"), address("lo"), route("10.0.1.0/24", "192.168.0.2"), route("fd00:1::/64", "fd01::2"))
	})
	n.inside("world", func() error {
		return errors.Join(
			address("eth0", "192.168.0.2/24", "fd01::2/64", "192.168.0.9/24", "fd01::9/64"), address("lo", "10.0.1.2/32", "fd00:1::2/128"),
			route("10.0.0.0/24", "192.168.0.1"), route("fd00::/64", "fd01::1"))
	})
	for _, name := range all {
		for _, port := range []int{80, 81} {
			n.echo(name, port)
		}
	}
	n.inside("n1", func() (err error) { n.writer, err = newWriter(); return err })
	return n
}

// space makes a network namespace.
func (n *network) space() netns.NsHandle {
	n.t.Helper()
	type result struct {
		ns  netns.NsHandle
		err error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // the thread ends with its namespace
		ns, err := netns.New()
		if err == nil {
			// Links have their addresses at once.
			err = os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0o644)
		}
		made <- result{ns, err}
	}()
	r := <-made
	if r.err != nil {
		n.t.Fatalf("making a network namespace: %v", r.err)
	}
	n.t.Cleanup(func() { _ = r.ns.Close() })
	return r.ns
}

// inside calls do in a network namespace.
func (n *network) inside(name string, do func() error) {
	n.t.Helper()
	if err := n.in(name, do); err != nil {
		n.t.Fatalf("in %s: %v", name, err)
	}
}

func (n *network) in(name string, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(n.spaces[name]); err != nil {
			done <- err
			return
		}
		done <- do()
	}()
	return <-done
}

// cable connects eth0 of a namespace with a link of n1.
func (n *network) cable(name, link, master string) {
	n.t.Helper()
	n.inside("n1", func() error {
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: link}, PeerName: "eth0", PeerNamespace: netlink.NsFd(n.spaces[name])}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		if master != "" {
			to, err := netlink.LinkByName(master)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetMaster(pair, to); err != nil {
				return err
			}
		}
		return netlink.LinkSetUp(pair)
	})
}

// address gives a link addresses, and sets it up.
func address(name string, addresses ...string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	errs := []error{netlink.LinkSetUp(link)}
	for _, text := range addresses {
		a, err := netlink.ParseAddr(text)
		if err == nil {
			a.Flags |= syscall.IFA_F_NODAD
			err = netlink.AddrAdd(link, a)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func route(to, via string) error {
	r := &netlink.Route{Gw: net.ParseIP(via)}
	if to != "" {
		_, destination, err := net.ParseCIDR(to)
		if err != nil {
			return err
		}
		r.Dst = destination
	}
	return netlink.RouteAdd(r)
}

// echo answers on a port of all addresses of a namespace.
func (n *network) echo(name string, port int) {
	n.t.Helper()
	n.inside(name, func() error {
		tcp, err := net.ListenTCP("tcp", &net.TCPAddr{Port: port})
		if err != nil {
			return err
		}
		n.t.Cleanup(func() { _ = tcp.Close() })
		go func() {
			for {
				c, err := tcp.Accept()
				if err != nil {
					return
				}
				go func() { // closed by the client, as then no port stays taken here
					defer c.Close()
					_, _ = c.Read(make([]byte, 1))
				}()
			}
		}()
		// A socket for each address: an answer comes from the address that was asked.
		for _, a := range n.own(name) {
			udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: a.AsSlice(), Port: port})
			if err != nil {
				return err
			}
			n.t.Cleanup(func() { _ = udp.Close() })
			go func() {
				buffer := make([]byte, 16)
				for {
					size, from, err := udp.ReadFromUDPAddrPort(buffer)
					if err != nil {
						return
					}
					_, _ = udp.WriteToUDPAddrPort(buffer[:size], from)
				}
			}()
		}
		return nil
	})
}

// spaceOf is the namespace of a place.
func (n *network) spaceOf(place string) string {
	if _, own := n.spaces[place]; own {
		return place
	}
	if place == "metadata" {
		return "n1"
	}
	return "world"
}

func (n *network) own(space string) []netip.Addr {
	var all []netip.Addr
	for place, addresses := range n.places {
		if n.spaceOf(place) == space {
			all = append(all, addresses...)
		}
	}
	return all
}

// passes is true when there is an answer.
func (n *network) passes(from string, c connection) (ok bool) {
	_ = n.in(n.spaceOf(from), func() error {
		ok = answered(c)
		return nil
	})
	return ok
}

// as is true when a connection passes or not, as it should.
func (c connection) as(want bool) bool {
	if !want {
		// A port that an allowed connection had a while ago may be taken again: to the kernel that is the same connection.
		return !answered(c) || !answered(c)
	}
	for range tries {
		if answered(c) {
			return true
		}
	}
	return false
}

func answered(c connection) bool {
	to := netip.AddrPortFrom(c.to, c.port).String()
	dialer := net.Dialer{Timeout: tryFor, LocalAddr: &net.TCPAddr{IP: c.from.AsSlice()}}
	if c.protocol == corev1.ProtocolUDP {
		dialer.LocalAddr = &net.UDPAddr{IP: c.from.AsSlice()}
	}
	conn, err := dialer.Dial(strings.ToLower(string(c.protocol)), to)
	if err != nil {
		return false
	}
	defer conn.Close()
	if c.protocol == corev1.ProtocolTCP {
		return true
	}
	_ = conn.SetDeadline(time.Now().Add(tryFor))
	_, err = conn.Write([]byte("?"))
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	return err == nil
}

func (n *network) write(rules Rules) {
	n.t.Helper()
	n.inside("n1", func() error { return n.writer.write(n.t.Context(), render(rules, bridge)) })
}

// check tries many connections at once.
func (n *network) check(passes, dropped []string) {
	n.t.Helper()
	var all sync.WaitGroup
	for _, text := range slices.Concat(passes, dropped) {
		c, want, from := parse(n.t, text), slices.Contains(passes, text), strings.Fields(text)[0]
		all.Go(func() {
			_ = n.in(n.spaceOf(from), func() error {
				if !c.as(want) {
					n.t.Errorf("%s: passes is %t", text, !want)
				}
				return nil
			})
		})
	}
	all.Wait()
}

func TestTheKernelEnforcesEveryCase(t *testing.T) {
	n := newNetwork(t)
	outer := n.t
	for _, name := range keys(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			n.t = t
			defer func() { n.t = outer }()
			n.write(Evaluate(clusterWith(t, c.policies...)))
			n.check(c.passes, c.dropped)
		})
	}
}

func TestNothingPassesBeforeThePoliciesAreRead(t *testing.T) {
	n := newNetwork(t)
	n.write(Rules{})
	n.check([]string{"n1 > outside tcp 80", "outside > n1 tcp 80", "n1 > x/a tcp 80"},
		[]string{"x/a > x/b tcp 80", "x/a > outside tcp 80", "outside > x/a tcp 80", "x/a > n1 tcp 80", "x/a > metadata tcp6 80", "x/a > x/b udp6 80"})
}

func TestAPodCannotSendFromAnotherAddress(t *testing.T) {
	n := newNetwork(t)
	n.write(Evaluate(clusterWith(t)))
	n.inside("x/a", func() error { return address("eth0", "10.0.0.77/24", "192.168.0.77/24", "fd00::77/64") })
	for _, stolen := range addresses("10.0.0.77", "192.168.0.77") {
		if n.passes("x/a", connection{stolen, places["x/b"][0], corev1.ProtocolTCP, 80}) {
			t.Errorf("%s passes", stolen)
		}
	}
	if n.passes("x/a", connection{netip.MustParseAddr("fd00::77"), places["x/b"][1], corev1.ProtocolTCP, 80}) {
		t.Error("fd00::77 passes")
	}
	n.check([]string{"x/a > x/b tcp 80", "x/a > x/b tcp6 80"}, nil)
}

func TestPoliciesAreNotBypassedByLinkLocalAddresses(t *testing.T) {
	n := newNetwork(t)
	n.write(Evaluate(clusterWith(t, `{podSelector: {}, policyTypes: [Ingress, Egress]}`)))
	var to netip.Addr
	n.inside("x/b", func() error {
		link, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		all, err := netlink.AddrList(link, netlink.FAMILY_V6)
		for _, a := range all {
			if a.IP.IsLinkLocalUnicast() {
				to, _ = netip.AddrFromSlice(a.IP)
			}
		}
		return err
	})
	if !to.IsValid() {
		t.Fatal("the pod has no link-local address")
	}
	n.inside("x/a", func() error {
		conn, err := net.DialTimeout("tcp", netip.AddrPortFrom(to.WithZone("eth0"), 80).String(), tryFor)
		if err == nil {
			conn.Close()
			t.Error("a connection from link-local address to link-local address passes")
		}
		return nil
	})
}

// translate is what kube-proxy does for a Service.
const translate = `
add table ip services
add chain ip services nat { type nat hook prerouting priority dstnat; }
add rule ip services nat ip daddr 10.96.0.1 tcp dport 443 dnat to %s:81
`

func TestAServiceIsJudgedByItsEndpoint(t *testing.T) {
	for endpoint, c := range map[string]struct {
		policy string
		want   bool
	}{
		"x/b": {`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: b}}}], ports: [{port: 81}]}]}`, true},
		"y/c": {`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.96.0.0/16}}]}]}`, false},
	} {
		t.Run(endpoint, func(t *testing.T) {
			n := newNetwork(t)
			n.inside("n1", func() error {
				out, err := exec.CommandContext(t.Context(), "nft", fmt.Sprintf(translate, places[endpoint][0])).CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			})
			service := connection{places["x/a"][0], netip.MustParseAddr("10.96.0.1"), corev1.ProtocolTCP, 443}
			n.write(Evaluate(clusterWith(t)))
			n.inside("x/a", func() error {
				if !service.as(true) {
					t.Error("the Service does not work without policies")
				}
				return nil
			})
			n.write(Evaluate(clusterWith(t, c.policy)))
			n.inside("x/a", func() error {
				if !service.as(c.want) {
					t.Errorf("passes is %t", !c.want)
				}
				return nil
			})
		})
	}
}

func TestAConnectionOutlivesAChangeOfPolicies(t *testing.T) {
	n := newNetwork(t)
	n.write(Evaluate(clusterWith(t)))
	n.inside("x/a", func() error {
		dialer := net.Dialer{LocalAddr: &net.UDPAddr{IP: places["x/a"][0].AsSlice()}}
		conn, err := dialer.Dial("udp", netip.AddrPortFrom(places["x/b"][0], 80).String())
		if err != nil {
			return err
		}
		defer conn.Close()
		ask := func() error {
			_ = conn.SetDeadline(time.Now().Add(tryFor))
			if _, err := conn.Write([]byte("?")); err != nil {
				return err
			}
			_, err := conn.Read(make([]byte, 1))
			return err
		}
		if err := ask(); err != nil {
			return err
		}
		n.write(Evaluate(clusterWith(t, `{podSelector: {}, policyTypes: [Ingress]}`)))
		return ask()
	})
	n.check(nil, []string{"x/a > x/b udp 80"})
}

func TestAWriteThatFailsIsFollowedByAWholeOne(t *testing.T) {
	n := newNetwork(t)
	n.write(Evaluate(clusterWith(t)))
	n.inside("n1", func() error {
		if out, err := exec.CommandContext(t.Context(), "nft", "delete table inet "+tableName).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		closed := render(Evaluate(clusterWith(t, `{podSelector: {}, policyTypes: [Ingress]}`)), bridge)
		if err := n.writer.write(t.Context(), closed); err == nil {
			t.Error("a change of a table that is not there succeeds")
		}
		return n.writer.write(t.Context(), closed)
	})
	n.check([]string{"x/a > outside tcp 80"}, []string{"x/b > x/a tcp 80"})
}

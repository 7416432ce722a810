package networkpolicy

import (
	"errors"
	"fmt"
	"maps"
	"math"
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

	"github.com/hosted-control-planes/hypershift/test/lab/nftables"
)

const bridge = "cni0"

const (
	// dropAfter is the timeout for responses that must not arrive. Others take about a millisecond.
	dropAfter = 250 * time.Millisecond
	// answerWithin is the timeout for responses that must arrive. It is long because of busy hosts.
	answerWithin = 30 * time.Second
)

// network is the network of the cases, in network namespaces: node n1, its pods on a bridge, and everything outside.
type network struct {
	t      *testing.T
	places map[string][]netip.Addr
	spaces map[string]netns.NsHandle
	calls  map[string]chan func() // each runs on a thread in the namespace
	writer *nftables.Writer
	ports  ports
}

// ports assigns every attempt an unused source port. Connection tracking accepts packets of a connection that older rules
// allowed. If the kernel selected the ports, some attempts would reuse the port of such a connection and pass although the
// new rules drop them.
type ports struct {
	sync.Mutex
	last map[netip.Addr]uint16
}

// firstPort is above the ports on which the network listens.
const firstPort = 1024

func (p *ports) next(from netip.Addr) (uint16, error) {
	p.Lock()
	defer p.Unlock()
	switch p.last[from] {
	case 0:
		p.last[from] = firstPort
	case math.MaxUint16:
		return 0, fmt.Errorf("%s has no port left that was not used before", from)
	default:
		p.last[from]++
	}
	return p.last[from], nil
}

// newNetwork creates the network of the cases.
func newNetwork(t *testing.T) *network {
	t.Helper()
	return makeNetwork(t, places, "x/a", "x/b", "y/a")
}

// makeNetwork creates one with these pods on n1. It needs root and a kernel with nftables and br_netfilter.
func makeNetwork(t *testing.T, places map[string][]netip.Addr, pods ...string) *network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("nft is missing: apt-get install nftables")
	}
	if _, err := os.Stat("/proc/sys/net/bridge"); err != nil {
		t.Skip("the kernel has no br_netfilter: modprobe br_netfilter")
	}
	n := &network{t: t, places: places, spaces: map[string]netns.NsHandle{}, calls: map[string]chan func(){}, ports: ports{last: map[netip.Addr]uint16{}}}
	all := append([]string{"n1", "world"}, pods...)
	for _, name := range all {
		n.spaces[name], n.calls[name] = n.space()
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
	n.inside("n1", func() (err error) { n.writer, err = newTable(); return err })
	return n
}

// space creates a network namespace with a thread in it.
func (n *network) space() (netns.NsHandle, chan func()) {
	n.t.Helper()
	type result struct {
		ns  netns.NsHandle
		err error
	}
	made, calls := make(chan result), make(chan func())
	go func() {
		runtime.LockOSThread() // the thread ends with its goroutine, as it is never unlocked
		ns, err := netns.New()
		if err == nil {
			// Links have their addresses at once.
			err = os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0o644)
		}
		made <- result{ns, err}
		for call := range calls {
			call()
		}
	}()
	n.t.Cleanup(func() { close(calls) })
	r := <-made
	if r.err != nil {
		n.t.Fatalf("making a network namespace: %v", r.err)
	}
	n.t.Cleanup(func() { _ = r.ns.Close() })
	return r.ns, calls
}

// inside runs functions in a network namespace.
func (n *network) inside(name string, do func() error) {
	n.t.Helper()
	if err := n.in(name, do); err != nil {
		n.t.Fatalf("in %s: %v", name, err)
	}
}

func (n *network) in(name string, do func() error) error {
	done := make(chan error, 1)
	n.calls[name] <- func() { done <- do() }
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

// address sets addresses of a link, and sets it up.
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

// echo responds on a port of all addresses of a namespace.
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
				go func() { // the client closes it first, so that no port stays in use here
					defer c.Close()
					_, _ = c.Read(make([]byte, 1))
				}()
			}
		}()
		// A socket for each address: a response then comes from the requested address.
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

// passes is true if an attempt gets a response in time.
func (n *network) passes(text string) bool {
	n.t.Helper()
	err := n.attempt(strings.Fields(text)[0], parse(n.t, text), dropAfter)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		n.t.Fatalf("%s: %v", text, err)
	}
	return err == nil
}

// expect returns an error unless a connection from a place passes or is dropped as expected.
func (n *network) expect(place string, c connection, passes bool) error {
	if passes {
		err := n.attempt(place, c, answerWithin)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errors.New("it is dropped")
		}
		return err
	}
	err := n.attempt(place, c, dropAfter)
	switch {
	case err == nil:
		return errors.New("it passes")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err // no packet was sent that could have been dropped
}

// attempt connects once, and waits for the response.
func (n *network) attempt(place string, c connection, wait time.Duration) error {
	var conn *os.File
	err := n.in(n.spaceOf(place), func() (err error) {
		conn, err = n.open(c)
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	end := time.Now().Add(wait)
	if c.protocol == corev1.ProtocolUDP {
		return answered(conn, end)
	}
	if err := conn.SetDeadline(end); err != nil {
		return err
	}
	return connected(conn)
}

// answered waits for a response to a datagram. It resends the datagram every second, as TCP would, because a busy host may
// lose it.
func answered(conn *os.File, end time.Time) error {
	for {
		until := time.Now().Add(time.Second)
		if until.After(end) {
			until = end
		}
		if err := conn.SetDeadline(until); err != nil {
			return err
		}
		if _, err := conn.WriteString("?"); err != nil {
			return err
		}
		if _, err := conn.Read(make([]byte, 1)); until.Equal(end) || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
}

// open starts a connection without waiting, so that a thread can run many attempts at once. The socket belongs to the
// namespace of the thread.
func (n *network) open(c connection) (*os.File, error) {
	port, err := n.ports.next(c.from)
	if err != nil {
		return nil, err
	}
	kind, domain := syscall.SOCK_STREAM, syscall.AF_INET
	if c.protocol == corev1.ProtocolUDP {
		kind = syscall.SOCK_DGRAM
	}
	if c.from.Is6() {
		domain = syscall.AF_INET6
	}
	fd, err := syscall.Socket(domain, kind|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	conn := os.NewFile(uintptr(fd), "socket")
	if err := syscall.Bind(fd, sockaddr(c.from, port)); err != nil {
		return nil, errors.Join(os.NewSyscallError("bind", err), conn.Close())
	}
	if err := syscall.Connect(fd, sockaddr(c.to, c.port)); err != nil && !errors.Is(err, syscall.EINPROGRESS) {
		return nil, errors.Join(os.NewSyscallError("connect", err), conn.Close())
	}
	return conn, nil
}

func sockaddr(a netip.Addr, port uint16) syscall.Sockaddr {
	if a.Is4() {
		return &syscall.SockaddrInet4{Port: int(port), Addr: a.As4()}
	}
	return &syscall.SockaddrInet6{Port: int(port), Addr: a.As16()}
}

// connected waits until a socket is connected.
func connected(conn *os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Write(func(fd uintptr) bool {
		number, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		if err == nil && number != 0 {
			err = syscall.Errno(number)
		}
		if err != nil {
			failure = os.NewSyscallError("connect", err)
			return true
		}
		_, err = syscall.Getpeername(int(fd))
		return err == nil // not connected yet
	})
	return errors.Join(err, failure)
}

func (n *network) write(rules Rules) {
	n.t.Helper()
	n.inside("n1", func() error { return n.writer.Write(n.t.Context(), render(rules, bridge)) })
}

// check runs many attempts at once.
func (n *network) check(passes, dropped []string) {
	n.t.Helper()
	var all sync.WaitGroup
	for _, text := range slices.Concat(passes, dropped) {
		c, want, from := parse(n.t, text), slices.Contains(passes, text), strings.Fields(text)[0]
		all.Go(func() {
			if err := n.expect(from, c, want); err != nil {
				n.t.Errorf("%s: %v", text, err)
			}
		})
	}
	all.Wait()
}

func TestKernelEnforcesEveryCase(t *testing.T) {
	n := newNetwork(t)
	outer := n.t
	for _, name := range slices.Sorted(maps.Keys(cases)) {
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

func TestPodCannotSendFromAnotherAddress(t *testing.T) {
	n := newNetwork(t)
	n.write(Evaluate(clusterWith(t)))
	n.inside("x/a", func() error { return address("eth0", "10.0.0.77/24", "192.168.0.77/24", "fd00::77/64") })
	for stolen, to := range map[string]netip.Addr{"10.0.0.77": places["x/b"][0], "192.168.0.77": places["x/b"][0], "fd00::77": places["x/b"][1]} {
		if err := n.expect("x/a", connection{netip.MustParseAddr(stolen), to, corev1.ProtocolTCP, 80}, false); err != nil {
			t.Errorf("from %s: %v", stolen, err)
		}
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
		conn, err := net.DialTimeout("tcp", netip.AddrPortFrom(to.WithZone("eth0"), 80).String(), dropAfter)
		if err == nil {
			conn.Close()
			t.Error("a connection from link-local address to link-local address passes")
		}
		return nil
	})
}

// translate is the rule of kube-proxy for a Service.
const translate = `
add table ip services
add chain ip services nat { type nat hook prerouting priority dstnat; }
add rule ip services nat ip daddr 10.96.0.1 tcp dport 443 dnat to %s:81
`

func TestServiceIsEvaluatedByItsEndpoint(t *testing.T) {
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
			if err := n.expect("x/a", service, true); err != nil {
				t.Errorf("the Service without policies: %v", err)
			}
			n.write(Evaluate(clusterWith(t, c.policy)))
			if err := n.expect("x/a", service, c.want); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestConnectionSurvivesAChangeOfPolicies(t *testing.T) {
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
			_ = conn.SetDeadline(time.Now().Add(answerWithin))
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

func TestFailedWriteIsFollowedByAFullOne(t *testing.T) {
	n := newNetwork(t)
	n.write(Evaluate(clusterWith(t)))
	n.inside("n1", func() error {
		if out, err := exec.CommandContext(t.Context(), "nft", "delete table inet "+"networkpolicy").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		closed := render(Evaluate(clusterWith(t, `{podSelector: {}, policyTypes: [Ingress]}`)), bridge)
		if err := n.writer.Write(t.Context(), closed); err == nil {
			t.Error("a change of a missing table succeeds")
		}
		return n.writer.Write(t.Context(), closed)
	})
	n.check([]string{"x/a > outside tcp 80"}, []string{"x/b > x/a tcp 80"})
}

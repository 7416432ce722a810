package vpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/isolated"
	"github.com/hosted-control-planes/hypershift/test/lab/nftables"
	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

// dropAfter is the timeout of connections that must not be made, reachWithin the timeout of connections that must be made.
const dropAfter, reachWithin = 300 * time.Millisecond, 10 * time.Second

// world is two customers with the same addresses, an instance of each with a service on port 80, and a service on the internet.
type world struct {
	t *testing.T
	*Network
	aws       awsemulator.Network
	machines  map[string]*exec.Cmd
	spaces    map[string]netns.NsHandle
	internet  netip.AddrPort
	forbidden netip.AddrPort // on the internet, but not for VPCs
}

// customer adds the network of a customer with a VPC 10.1.0.0/16. One of its subnets contains a NAT gateway.
func (w *world) customer(name string) {
	everything := []awsemulator.SecurityGroupRule{{Protocol: "-1", From: -1, To: -1, CIDR: "0.0.0.0/0"}}
	w.aws.VPCs = append(w.aws.VPCs, awsemulator.VPC{ID: name, Account: name, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, DNS: true})
	w.aws.Subnets = append(w.aws.Subnets,
		awsemulator.NetworkSubnet{ID: name + "-nat", VPC: name, CIDR: netip.MustParsePrefix("10.1.0.0/20"), ZoneID: "use1-az1", Internet: awsemulator.NAT},
		awsemulator.NetworkSubnet{ID: name + "-closed", VPC: name, CIDR: netip.MustParsePrefix("10.1.16.0/20"), ZoneID: "use1-az2"},
	)
	w.aws.Groups = append(w.aws.Groups,
		awsemulator.SecurityGroup{ID: name + "-web", VPC: name, Egress: everything, Ingress: []awsemulator.SecurityGroupRule{
			{Protocol: "tcp", From: 80, To: 80, Group: name + "-users"}, {Protocol: "tcp", From: 8000, To: 8010, CIDR: "10.1.16.0/20"},
		}},
		awsemulator.SecurityGroup{ID: name + "-users", VPC: name, Egress: everything},
		awsemulator.SecurityGroup{ID: name + "-quiet", VPC: name},
	)
	w.instance(name, "web", "nat", "10.1.0.5", "web")
	w.instance(name, "user", "nat", "10.1.0.6", "users")
	w.instance(name, "stranger", "closed", "10.1.16.7", "web")
	w.instance(name, "mute", "nat", "10.1.0.8", "quiet")
}

func (w *world) instance(customer, name, subnet, address, group string) {
	w.aws.Interfaces = append(w.aws.Interfaces, awsemulator.NetworkInterface{
		ID: "eni-" + customer + name, VPC: customer, Subnet: customer + "-" + subnet, Address: netip.MustParseAddr(address), Groups: []string{customer + "-" + group},
		Kind: "interface", Instance: customer + "-" + name, HopLimit: 1, Metadata: true, TokensRequired: true,
	})
}

func newWorld(t *testing.T, customers ...string) *world {
	isolated.Require(t)
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, machines: map[string]*exec.Cmd{}, spaces: map[string]netns.NsHandle{}}
	_ = netlink.AddrAdd(lo, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("10.55.0.1/32"))}) // another test has
	w.internet, w.forbidden = w.greet(w.here(), "10.55.0.1:0", "internet"), w.greet(w.here(), "10.55.0.1:0", "secret")
	for _, c := range customers {
		w.customer(c)
	}
	w.Network, err = New(Options{
		Read:       func(context.Context) (*awsemulator.Network, error) { copied := w.aws; return &copied, nil },
		Management: "management", ManagementVPC: "home", ControlPlane: netip.MustParseAddr("10.55.0.2"), Services: []netip.AddrPort{w.internet},
		Balancers: func() map[string]netip.Addr { return nil },
		Metadata: func(instance string) *Metadata {
			m := &Metadata{ID: instance, Zone: "us-east-1a", UserData: []byte("data of " + instance)}
			if strings.HasPrefix(instance, "home-") {
				m.Role = "node"
			}
			return m
		},
		Options: poll.Options{Clock: clock.RealClock{}, Progress: t.Output()},
	})
	if err == nil {
		err = w.Refresh(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Cleanup(func() { w.Run(ctx) }) // removes everything
	for _, i := range w.aws.Interfaces {
		w.boot(i)
	}
	return w
}

func (w *world) here() netns.NsHandle {
	ns, err := netns.Get()
	if err != nil {
		w.t.Fatal(err)
	}
	return ns
}

// boot runs the machine of an instance: a process with a network.
func (w *world) boot(i awsemulator.NetworkInterface) {
	w.t.Helper()
	machine := exec.Command("sleep", "infinity")
	machine.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := machine.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.machines[i.Instance] = machine
	w.t.Cleanup(func() { _, _ = machine.Process.Kill(), machine.Wait() })
	a, err := w.Attachment(w.t.Context(), i.Instance)
	if err == nil {
		err = w.Plug(w.t.Context(), i.Instance, machine.Process.Pid)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	ns, err := netns.GetFromPid(machine.Process.Pid)
	if err != nil {
		w.t.Fatal(err)
	}
	w.spaces[i.Instance] = ns
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		w.t.Fatal(err)
	}
	defer h.Close()
	l, err := h.LinkByName("eth0")
	if err != nil {
		w.t.Fatal(err)
	}
	err = errors.Join(
		h.AddrAdd(l, &netlink.Addr{IPNet: ipNet(a.Address)}), h.LinkSetUp(l),
		h.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Dst: ipNet(netip.PrefixFrom(a.Gateway, 32)), Scope: netlink.SCOPE_LINK}),
		h.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: a.Gateway.AsSlice()}),
	)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, port := range []string{"80", "8000", "8010", "8011"} {
		w.greet(ns, netip.MustParseAddrPort(i.Address.String()+":"+port).String(), i.Instance)
	}
}

// greet is a server that says its name to each client.
func (w *world) greet(ns netns.NsHandle, at, name string) netip.AddrPort {
	w.t.Helper()
	return w.serve(ns, at, func(c net.Conn) { _, _ = io.WriteString(c, name) })
}

// serve is a server that does something with each connection.
func (w *world) serve(ns netns.NsHandle, at string, handle func(net.Conn)) netip.AddrPort {
	w.t.Helper()
	var l net.Listener
	err := inside(ns, func() (err error) { l, err = net.Listen("tcp4", at); return err })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = l.Close() })
	go answer(l, handle)
	return netip.MustParseAddrPort(l.Addr().String())
}

func answer(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			handle(c)
		}()
	}
}

// ask connects from an instance, and returns the server's answer, or "".
func (w *world) ask(from, to string, timeout time.Duration) string {
	return w.askFrom(from, "", to, timeout)
}

// askFrom is ask with an address of the instance.
func (w *world) askFrom(from, address, to string, timeout time.Duration) string {
	var text []byte
	_ = inside(w.spaces[from], func() error {
		dialer := net.Dialer{Timeout: timeout}
		if address != "" {
			dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(address)}
		}
		c, err := dialer.Dial("tcp4", to)
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(timeout))
		text, err = io.ReadAll(c)
		return err
	})
	return string(text)
}

func (w *world) reaches(from, to, want string) {
	w.t.Helper()
	timeout := reachWithin
	if want == "" {
		timeout = dropAfter
	}
	if got := w.ask(from, to, timeout); got != want {
		w.t.Errorf("%s -> %s: %q, want %q", from, to, got, want)
	}
}

// segments fails the test unless the packets of a connection have at most so many bytes.
func (w *world) segments(from, to string, mtu int) {
	w.t.Helper()
	const headers = 52 // of IPv4 and of TCP with timestamps
	err := inside(w.spaces[from], func() error {
		c, err := (&net.Dialer{Timeout: reachWithin}).Dial("tcp4", to)
		if err != nil {
			return err
		}
		defer c.Close()
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			return err
		}
		return raw.Control(func(fd uintptr) {
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG); err != nil || got != mtu-headers {
				w.t.Errorf("%s -> %s: segments of %d bytes (%v), want %d", from, to, got, err, mtu-headers)
			}
		})
	})
	if err != nil {
		w.t.Error(err)
	}
}

func (w *world) refresh() {
	w.t.Helper()
	if err := w.Refresh(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func TestSecurityGroupsDecideWhoReachesAnInstance(t *testing.T) {
	w := newWorld(t, "a")
	w.reaches("a-user", "10.1.0.5:80", "a-web")           // by its group
	w.reaches("a-stranger", "10.1.0.5:80", "")            // not in the group
	w.reaches("a-stranger", "10.1.0.5:8000", "a-web")     // by its address
	w.reaches("a-stranger", "10.1.0.5:8010", "a-web")     // the last port
	w.reaches("a-stranger", "10.1.0.5:8011", "")          // one more
	w.reaches("a-user", "10.1.0.5:8000", "")              // another address
	w.reaches("a-mute", "10.1.0.5:80", "")                // may not send
	w.reaches("a-user", "10.1.0.200:80", "")              // the address belongs to no interface
	w.aws.Groups[0].Ingress = w.aws.Groups[0].Ingress[1:] // the rule of the group goes
	w.refresh()
	w.reaches("a-user", "10.1.0.5:80", "")
}

func TestRuleThatGoesEndsConnections(t *testing.T) {
	w := newWorld(t, "a")
	w.serve(w.spaces["a-web"], "10.1.0.5:8005", func(c net.Conn) { _, _ = io.Copy(c, c) })
	var c net.Conn
	err := inside(w.spaces["a-stranger"], func() (err error) { c, err = net.DialTimeout("tcp4", "10.1.0.5:8005", reachWithin); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	echo := func(timeout time.Duration) error {
		_ = c.SetDeadline(time.Now().Add(timeout))
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	if err := echo(reachWithin); err != nil {
		t.Fatal(err)
	}
	w.aws.Groups[0].Ingress = nil
	w.refresh()
	if err := echo(dropAfter); err == nil {
		t.Error("the connection goes on")
	}
}

func TestRouteTablesDecideWhatReachesTheInternet(t *testing.T) {
	w := newWorld(t, "a")
	w.reaches("a-user", w.internet.String(), "internet")
	w.segments("a-user", w.internet.String(), 1500)
	w.reaches("a-user", w.forbidden.String(), "") // a port that is not for VPCs
	w.reaches("a-stranger", w.internet.String(), "")
	w.aws.Subnets[0].Internet = awsemulator.NoInternet // the NAT gateway goes
	w.refresh()
	w.reaches("a-user", w.internet.String(), "")
	w.aws.Subnets[0].Internet = awsemulator.Gateway
	w.refresh()
	w.reaches("a-user", w.internet.String(), "") // it has no public address
	w.aws.Interfaces[1].Public = true
	w.refresh()
	w.reaches("a-user", w.internet.String(), "internet")
}

func TestVPCsWithTheSameAddressesDoNotMix(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.reaches("a-user", "10.1.0.5:80", "a-web")
	w.reaches("b-user", "10.1.0.5:80", "b-web")
	w.aws.VPCs = w.aws.VPCs[1:]
	w.refresh()
	w.reaches("a-user", "10.1.0.5:80", "")
	w.reaches("b-user", "10.1.0.5:80", "b-web")
}

// addAddress gives an instance another address, unless it has that.
func (w *world) addAddress(instance, address string) {
	w.t.Helper()
	h, err := netlink.NewHandleAt(w.spaces[instance], unix.NETLINK_ROUTE)
	if err != nil {
		w.t.Fatal(err)
	}
	defer h.Close()
	l, _ := h.LinkByName("eth0")
	if err := h.AddrAdd(l, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix(address + "/32"))}); err != nil && !errors.Is(err, unix.EEXIST) {
		w.t.Fatal(err)
	}
}

func TestInstanceCannotUseAnotherAddress(t *testing.T) {
	w := newWorld(t, "a")
	w.addAddress("a-user", "10.1.16.99")
	if got := w.askFrom("a-user", "10.1.16.99", "10.1.0.5:8000", dropAfter); got != "" {
		t.Errorf("%s responds to the address of another subnet", got)
	}
}

// get makes a request to the metadata service from a network namespace, and returns the code, or 0, and the body.
func (w *world) get(from netns.NsHandle, timeout time.Duration, method, path string, headers ...string) (code int, body string) {
	return w.getURL(from, timeout, method, "http://169.254.169.254"+path, headers...)
}

func (w *world) getURL(from netns.NsHandle, timeout time.Duration, method, url string, headers ...string) (code int, body string) {
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (c net.Conn, err error) {
		err = inside(from, func() (err error) { c, err = new(net.Dialer).DialContext(ctx, network, address); return err })
		return c, err
	}}}
	req, _ := http.NewRequestWithContext(w.t.Context(), method, url, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func TestHopLimitKeepsPodsFromTheMetadata(t *testing.T) {
	w := newWorld(t, "a")
	pod := w.pod("a-user", "10.132.1.2")
	w.masquerade("a-user", "10.132.1.0/24")
	for _, c := range []struct{ limit, want int }{{1, 0}, {2, http.StatusUnauthorized}} {
		w.aws.Interfaces[1].HopLimit = c.limit
		w.refresh()
		timeout := reachWithin
		if c.want == 0 {
			timeout = dropAfter
		}
		if code, body := w.get(pod, timeout, "GET", "/latest/meta-data/instance-id"); code != c.want {
			t.Errorf("hop limit %d: %d %s", c.limit, code, body)
		}
		if code, _ := w.get(w.spaces["a-user"], reachWithin, "GET", "/latest/meta-data/instance-id"); code != http.StatusUnauthorized {
			t.Errorf("hop limit %d: the instance itself gets %d", c.limit, code)
		}
	}
}

// pod returns a network namespace that is connected to an instance's namespace, which forwards its packets.
func (w *world) pod(instance, address string) netns.NsHandle {
	w.t.Helper()
	pod, err := newNamespace()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = pod.Close() })
	gateway := netip.MustParsePrefix("10.132.1.1/24")
	err = inside(w.spaces[instance], func() error {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
			return err
		}
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "pod0"}, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(pod))}
		if err := h.LinkAdd(cable); err != nil {
			return err
		}
		return configure(h, "pod0", gateway, netip.Addr{})
	})
	if err == nil {
		err = inside(pod, func() error {
			h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
			if err != nil {
				return err
			}
			defer h.Close()
			return configure(h, "eth0", netip.PrefixFrom(netip.MustParseAddr(address), 24), gateway.Addr())
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return pod
}

// configure gives a link an address, and makes a gateway the default route.
func configure(h *netlink.Handle, name string, address netip.Prefix, gateway netip.Addr) error {
	l, err := h.LinkByName(name)
	if err == nil {
		err = errors.Join(h.AddrAdd(l, &netlink.Addr{IPNet: ipNet(address)}), h.LinkSetUp(l))
	}
	if err == nil && gateway.IsValid() {
		err = h.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: gateway.AsSlice()})
	}
	return err
}

func TestInstanceReadsItsMetadata(t *testing.T) {
	w := newWorld(t, "a", "b")
	get := func(from, method, path string, headers ...string) (code int, body string) {
		return w.get(w.spaces[from], reachWithin, method, path, headers...)
	}
	if code, _ := get("a-user", "PUT", "/latest/api/token"); code != http.StatusBadRequest {
		t.Errorf("a token without a lifetime: %d", code)
	}
	_, token := get("a-user", "PUT", "/latest/api/token", tokenHeader+"-ttl-seconds", "60")
	for name, c := range map[string]struct {
		from, path, token string
		code              int
		want              string
	}{
		"its id":                   {"a-user", "/latest/meta-data/instance-id", token, 200, "a-user"},
		"its address":              {"a-user", "/latest/meta-data/local-ipv4", token, 200, "10.1.0.6"},
		"its region":               {"a-user", "/latest/meta-data/placement/region", token, 200, "us-east-1"},
		"its user data":            {"a-user", "/latest/user-data", token, 200, "data of a-user"},
		"no token":                 {"a-user", "/latest/user-data", "", 401, ""},
		"an unknown item":          {"a-user", "/latest/meta-data/unknown", token, 404, ""},
		"the token of another VPC": {"b-user", "/latest/user-data", token, 401, ""},
		"the token of another one": {"a-web", "/latest/user-data", token, 401, ""},
		"groups have no say in it": {"a-mute", "/latest/user-data", "", 401, ""},
		"nor have routes":          {"a-stranger", "/latest/user-data", "", 401, ""},
	} {
		code, body := get(c.from, "GET", c.path, tokenHeader, c.token)
		if code != c.code || c.want != "" && body != c.want {
			t.Errorf("%s: %d %q", name, code, body)
		}
	}
}

func TestEndpointLeadsToABalancerWhileItIsConnected(t *testing.T) {
	w := newWorld(t, "a")
	w.aws.Balancers = []awsemulator.Balancer{{ARN: "nlb", Active: true, Internal: true}}
	w.aws.Groups = append(w.aws.Groups, awsemulator.SecurityGroup{ID: "a-endpoint", VPC: "a", Ingress: []awsemulator.SecurityGroupRule{{Protocol: "tcp", From: 6443, To: 6443, CIDR: "10.1.0.0/16"}}})
	for n, subnet := range []string{"a-nat", "a-closed"} {
		w.aws.Interfaces = append(w.aws.Interfaces, awsemulator.NetworkInterface{
			ID: fmt.Sprintf("eni-endpoint%d", n), VPC: "a", Subnet: subnet, Address: netip.MustParseAddr(fmt.Sprintf("10.1.%d.254", 16*n)), Groups: []string{"a-endpoint"}, Kind: "vpc_endpoint",
		})
	}
	endpoint := awsemulator.Endpoint{ID: "vpce", VPC: "a", State: "available", Allowed: true, Balancers: []string{"nlb"}, ZoneIDs: []string{"use1-az1"}, Interfaces: []string{"eni-endpoint0", "eni-endpoint1"}}
	for name, c := range map[string]struct {
		change func(*awsemulator.Endpoint, *awsemulator.Balancer)
		want   string
	}{
		"in the zone of the service":            {func(*awsemulator.Endpoint, *awsemulator.Balancer) {}, "eni-endpoint0 nlb use1-az1"},
		"across zones":                          {func(_ *awsemulator.Endpoint, b *awsemulator.Balancer) { b.CrossZone = true }, "eni-endpoint0 nlb "},
		"in both zones":                         {func(e *awsemulator.Endpoint, _ *awsemulator.Balancer) { e.ZoneIDs = []string{"use1-az1", "use1-az2"} }, "eni-endpoint0 nlb use1-az1, eni-endpoint1 nlb use1-az2"},
		"not before it is available":            {func(e *awsemulator.Endpoint, _ *awsemulator.Balancer) { e.State = "pendingAcceptance" }, ""},
		"not when it is rejected":               {func(e *awsemulator.Endpoint, _ *awsemulator.Balancer) { e.State = "rejected" }, ""},
		"not without permission of the service": {func(e *awsemulator.Endpoint, _ *awsemulator.Balancer) { e.Allowed = false }, ""},
		"not without a load balancer":           {func(e *awsemulator.Endpoint, _ *awsemulator.Balancer) { e.Balancers = nil }, ""},
	} {
		e, b := endpoint, w.aws.Balancers[0]
		c.change(&e, &b)
		w.aws.Endpoints, w.aws.Balancers = []awsemulator.Endpoint{e}, []awsemulator.Balancer{b}
		w.refresh()
		var got []string
		for _, entry := range w.Entries() {
			got = append(got, entry.ID+" "+entry.Balancer+" "+entry.Zone)
		}
		w.aws.Balancers[0].CrossZone = false
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, ", "), c.want)
		}
	}
	w.aws.Endpoints = []awsemulator.Endpoint{endpoint}
	w.refresh()
	entry := w.Entries()[0]
	l, err := entry.Listen(6443)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go answer(l, func(c net.Conn) { _, _ = io.WriteString(c, "endpoint") })
	w.reaches("a-user", "10.1.0.254:6443", "endpoint")
	w.segments("a-user", "10.1.0.254:6443", 8500)
	w.reaches("a-mute", "10.1.0.254:6443", "") // may not send
	w.aws.Groups[len(w.aws.Groups)-1].Ingress[0].CIDR = "10.9.0.0/16"
	w.refresh()
	w.reaches("a-user", "10.1.0.254:6443", "")
}

// masquerade makes the pods of an instance use its address.
func (w *world) masquerade(instance, pods string) {
	w.t.Helper()
	err := inside(w.spaces[instance], func() error {
		table, err := nftables.NewWriter("pods", "what leaves the network of pods")
		if err != nil {
			return err
		}
		t := nftables.NewTable()
		t.Chains["postrouting"] = nftables.Chain{Type: "nat", Hook: "postrouting", Priority: "srcnat", Rules: []string{`oifname "eth0" ip saddr ` + pods + ` masquerade`}}
		return table.Write(w.t.Context(), t)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// Each direction of VXLAN is a flow of its own: the port of the sender is not the one at which the other side listens.
func TestOverlayPassesOnlyByTheRulesOfBothGroups(t *testing.T) {
	w := newWorld(t, "a")
	w.overlay("a-user", "10.1.0.6", "10.1.0.5", "10.132.1.1/16")
	w.overlay("a-web", "10.1.0.5", "10.1.0.6", "10.132.2.1/16")
	w.greet(w.spaces["a-web"], "10.132.2.1:80", "pod")
	w.reaches("a-user", "10.132.2.1:80", "")
	vxlan := func(group string) []awsemulator.SecurityGroupRule {
		return []awsemulator.SecurityGroupRule{{Protocol: "udp", From: 8472, To: 8472, Group: group}}
	}
	w.aws.Groups[0].Ingress = vxlan("a-users")
	w.refresh()
	w.reaches("a-user", "10.132.2.1:80", "")
	w.aws.Groups[1].Ingress = vxlan("a-web")
	w.refresh()
	w.reaches("a-user", "10.132.2.1:80", "pod")
	w.aws.Groups[0].Ingress = nil
	w.refresh()
	w.reaches("a-user", "10.132.2.1:80", "")
}

// A VPC does not route addresses of pods.
func TestAddressesOfPodsAreDropped(t *testing.T) {
	w := newWorld(t, "a")
	w.addAddress("a-user", "10.132.1.1")
	w.addAddress("a-web", "10.132.2.1")
	w.greet(w.spaces["a-web"], "10.132.2.1:80", "pod")
	w.reaches("a-user", "10.132.2.1:80", "")
	if got := w.askFrom("a-user", "10.132.1.1", "10.1.0.5:80", dropAfter); got != "" {
		t.Errorf("%s responds to the address of a pod", got)
	}
}

// overlay connects an instance to another one through VXLAN.
func (w *world) overlay(instance, local, remote, address string) {
	w.t.Helper()
	h, err := netlink.NewHandleAt(w.spaces[instance], unix.NETLINK_ROUTE)
	if err != nil {
		w.t.Fatal(err)
	}
	defer h.Close()
	card, err := h.LinkByName("eth0")
	if err != nil {
		w.t.Fatal(err)
	}
	tunnel := &netlink.Vxlan{
		LinkAttrs: netlink.LinkAttrs{Name: "vxlan0", MTU: 1450}, VxlanId: 1, Port: 8472, VtepDevIndex: card.Attrs().Index,
		SrcAddr: net.ParseIP(local), Group: net.ParseIP(remote),
	}
	err = h.LinkAdd(tunnel)
	if err == nil {
		err = errors.Join(h.AddrAdd(tunnel, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix(address))}), h.LinkSetUp(tunnel))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestDHCPOptionsNameTheDNSServerAndTheDomain(t *testing.T) {
	w := newWorld(t, "a")
	w.aws.VPCs[0].Domain = "ec2.internal"
	for want, servers := range map[string][]string{"10.1.0.2": {"AmazonProvidedDNS"}, "10.1.7.7": {"10.1.7.7", "10.1.7.8"}} {
		w.aws.VPCs[0].DNSServers = servers
		a, err := w.Attachment(t.Context(), "a-user")
		if err != nil || a.DNS.String() != want || a.Gateway.String() != "10.1.0.1" || a.Address.String() != "10.1.0.6/32" || a.Domain != "ec2.internal" {
			t.Errorf("%s: %+v, %v", servers, a, err)
		}
	}
}

// A server that could not start is started by the next read: without DNS, no machine of the VPC would join.
func TestServersOfAVPCAreStartedAgain(t *testing.T) {
	w := newWorld(t)
	started := 0
	w.o.Resolve = func(context.Context, *Router, []netip.AddrPort) error {
		if started++; started == 1 {
			return errors.New("the port is in use")
		}
		return nil
	}
	w.customer("a")
	if err := w.Refresh(t.Context()); err == nil {
		t.Error("the failure is not reported")
	}
	for range 100 { // the first servers give their sockets back
		if w.Refresh(t.Context()) == nil {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	if err := w.Refresh(t.Context()); err != nil || started < 2 || w.vpcs["a"].stop == nil {
		t.Errorf("started %d times: %v", started, err)
	}
}

func TestNothingStaysOfAVPC(t *testing.T) {
	w := newWorld(t, "a")
	w.aws = awsemulator.Network{}
	w.refresh()
	all, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if strings.HasPrefix(l.Attrs().Name, outsideLinks) {
			t.Errorf("link %s is left", l.Attrs().Name)
		}
	}
	if len(w.vpcs) != 0 {
		t.Error(w.vpcs)
	}
}

// A reading of the accounts that takes long does not undo the result of a later one: a machine is added while others are.
func TestTheLastReadingStays(t *testing.T) {
	w := newWorld(t)
	before, reading, release := w.aws, make(chan bool), make(chan bool)
	w.customer("acme")
	first := true
	w.o.Read = func(context.Context) (*awsemulator.Network, error) {
		found := w.aws
		if first {
			first, found = false, before
			close(reading)
			<-release
		}
		return &found, nil
	}
	older, newer := make(chan error, 1), make(chan error, 1)
	go func() { older <- w.Refresh(t.Context()) }()
	<-reading
	go func() { newer <- w.Refresh(t.Context()) }()
	select {
	case err := <-newer:
		newer <- err
	case <-time.After(100 * time.Millisecond): // it waits for the older one
	}
	close(release)
	if err := errors.Join(<-older, <-newer); err != nil {
		t.Fatal(err)
	}
	if _, known := w.interfaceOf("acme-web"); !known {
		t.Error("the network does not know an instance that it has seen")
	}
}

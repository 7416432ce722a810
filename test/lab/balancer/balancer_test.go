package balancer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/fixture/proxyprotocol"
	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

// echo responds with the server's name. After the client has closed its half, it sends everything that it received.
func (s *server) echo(c net.Conn) {
	defer c.Close()
	if _, err := io.WriteString(c, s.name+"\n"); err != nil {
		return
	}
	heard, err := io.ReadAll(c)
	if err == nil {
		_, _ = c.Write(heard)
	}
}

// scenario is a running balancer.
type scenario struct {
	*testing.T
	*account
	b     *Balancer
	clock *clocktesting.FakeClock
	port  int32
}

func newScenario(t *testing.T) *scenario {
	t.Helper()
	return newScenarioWith(t, Options{})
}

// newScenarioWith has some options of its own.
func newScenarioWith(t *testing.T, o Options) *scenario {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{T: t, account: newAccount(), clock: clocktesting.NewFakeClock(time.Unix(0, 0)), port: int32(port)}
	o.LoadBalancers, o.Instances, o.Network = s.account, s.account, netip.MustParsePrefix("127.58.0.0/24")
	o.Drain, o.Options = time.Hour, poll.Options{Clock: s.clock, Progress: t.Output()}
	s.b = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.b.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done // no goroutine may be left
	})
	return s
}

// eventually waits until a condition is true.
func (s *scenario) eventually(what string, so func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		if so() {
			return true, nil
		}
		s.clock.Step(time.Second)
		return false, nil
	})
	if err != nil {
		s.Fatalf("%s: %v; the balancer has %+v", what, err, s.b.Snapshot())
	}
}

// healthy waits until a load balancer has exactly these healthy targets.
func (s *scenario) healthy(name string, servers ...*server) {
	s.Helper()
	s.eventually(name+" has its healthy targets", func() bool {
		var got, want []string
		for _, lb := range s.b.Snapshot() {
			if lb.Name != name {
				continue
			}
			for _, t := range lb.Ports[0].Targets {
				if t.Healthy {
					got = append(got, t.Address.String())
				}
			}
		}
		for _, server := range servers {
			want = append(want, server.at().String())
		}
		slices.Sort(got)
		slices.Sort(want)
		return slices.Equal(got, want)
	})
}

// address is the address of a load balancer, if it has one.
func (s *scenario) address(name string) netip.Addr {
	for _, lb := range s.b.Snapshot() {
		if lb.Name == name {
			return lb.Address
		}
	}
	return netip.Addr{}
}

// connect opens a connection to a load balancer, and returns the name of the server.
func (s *scenario) connect(name string) (*net.TCPConn, string, error) {
	s.Helper()
	address := s.address(name)
	if !address.IsValid() {
		s.Fatalf("%s has no address", name)
	}
	c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, uint16(s.port))))
	if err != nil {
		return nil, "", err
	}
	s.Cleanup(func() { _ = c.Close() })
	line, err := bufio.NewReaderSize(c, 16).ReadString('\n')
	return c, strings.TrimSpace(line), err
}

// mustConnect is connect for load balancers with a healthy target.
func (s *scenario) mustConnect(name string) (*net.TCPConn, string) {
	s.Helper()
	c, who, err := s.connect(name)
	if err != nil {
		s.Fatal(err)
	}
	return c, who
}

// broken waits until a connection is reset.
func (s *scenario) broken(c net.Conn) {
	s.Helper()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		s.Errorf("the connection ended with %v, and was to be reset", err)
	}
}

// roundTrip sends text through a connection and back. This needs the close of one direction only.
func (s *scenario) roundTrip(c *net.TCPConn, what string) {
	s.Helper()
	_, err := io.WriteString(c, what)
	if err = errors.Join(err, c.CloseWrite()); err != nil {
		s.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != what {
		s.Errorf("got back %q, %v; want %q", got, err, what)
	}
}

func TestTrafficReachesTheTargets(t *testing.T) {
	s, one, two := newScenario(t), serve(t, "one"), serve(t, "two")
	s.balance("api", s.port, one.at(), two.at())
	s.healthy("api", one, two)
	answered := map[string]bool{}
	for range 4 {
		c, who := s.mustConnect("api")
		s.roundTrip(c, strings.Repeat("x", 1<<20))
		answered[who] = true
	}
	if !answered["one"] || !answered["two"] {
		t.Errorf("only %v answered", answered)
	}
	s.eventually("no connection is left", func() bool {
		return !slices.ContainsFunc(s.b.Snapshot()[0].Ports[0].Targets, func(t TargetStatus) bool { return t.Connections > 0 })
	})
}

func TestUnhealthyTargetLosesItsConnections(t *testing.T) {
	s, one, two := newScenario(t), serve(t, "one"), serve(t, "two")
	s.balance("api", s.port, one.at(), two.at())
	s.healthy("api", one, two)
	connections := map[string]*net.TCPConn{}
	for len(connections) < 2 {
		c, who := s.mustConnect("api")
		connections[who] = c
	}
	one.hang()
	s.healthy("api", two)
	s.broken(connections["one"])
	s.roundTrip(connections["two"], "still here")
	for range 3 {
		if _, who := s.mustConnect("api"); who != "two" {
			t.Errorf("%q answered", who)
		}
	}
	one.stop()
	s.healthy("api", one.restart(t), two)
}

func TestAllTargetsAreTriedIfNoneIsHealthy(t *testing.T) {
	s, one := newScenario(t), serve(t, "one")
	one.stop()
	s.balance("api", s.port, one.at())
	s.eventually("the load balancer listens", func() bool { return len(s.b.Snapshot()) == 1 })
	if c, _, err := s.connect("api"); err == nil {
		t.Error("no target exists, but the connection succeeded to ", c.RemoteAddr())
	}
	again := one.restart(t)
	if _, who := s.mustConnect("api"); who != again.name {
		t.Errorf("%q answered", who)
	}
}

func TestDeregisteredTargetKeepsItsConnectionsWhileDraining(t *testing.T) {
	s, one, two := newScenario(t), serve(t, "one"), serve(t, "two")
	s.balance("api", s.port, one.at())
	s.healthy("api", one)
	ends, _ := s.mustConnect("api")
	stays, _ := s.mustConnect("api")
	s.register("api", two.at())
	s.healthy("api", two)
	if _, who := s.mustConnect("api"); who != "two" {
		t.Errorf("%q answered", who)
	}
	s.roundTrip(ends, "the rest")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.broken(stays)
	}()
	s.eventually("the drain time is over", func() bool {
		s.clock.Step(s.b.o.Drain)
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
}

func TestDeletedLoadBalancerLosesItsConnections(t *testing.T) {
	s, one := newScenario(t), serve(t, "one")
	s.balance("api", s.port, one.at())
	s.healthy("api", one)
	c, _ := s.mustConnect("api")
	before := s.b.Snapshot()[0].Address
	s.change(func() { delete(s.balancers, "api") })
	s.eventually("it is gone", func() bool { return len(s.b.Snapshot()) == 0 })
	s.broken(c)
	s.eventually("its port is closed", func() bool {
		_, err := net.DialTimeout("tcp", netip.AddrPortFrom(before, uint16(s.port)).String(), time.Second)
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	s.balance("other", s.port, one.at())
	s.healthy("other", one)
	if after := s.b.Snapshot()[0].Address; after == before {
		t.Errorf("the next one reused its address, %s", after)
	}
}

func TestFailedReadKeepsTheLastState(t *testing.T) {
	s, one := newScenario(t), serve(t, "one")
	s.balance("api", s.port, one.at())
	s.healthy("api", one)
	s.change(func() { s.err, s.balancers = errors.New("throttled"), nil })
	s.eventually("the failure is detected", func() bool { return s.b.Trouble() != "" })
	if _, who := s.mustConnect("api"); who != "one" {
		t.Errorf("%q answered", who)
	}
}

// Resources may be deleted between two calls of one refresh.
func TestResourceDeletedDuringAReadIsNotAnError(t *testing.T) {
	s, one := newScenario(t), serve(t, "one")
	s.balance("api", s.port, one.at())
	s.balance("other", s.port, one.at())
	s.healthy("api", one)
	s.healthy("other", one)
	s.change(func() {
		delete(s.listeners, "other")
		delete(s.targets, "other")
	})
	s.eventually("it is gone", func() bool { return !s.address("other").IsValid() })
	if trouble := s.b.Trouble(); trouble != "" {
		t.Error(trouble)
	}
	if _, who := s.mustConnect("api"); who != "one" {
		t.Errorf("%q answered", who)
	}
}

func TestProvisioningLoadBalancerHasNoAddress(t *testing.T) {
	s, one := newScenario(t), serve(t, "one")
	s.balance("new", s.port, one.at())
	s.change(func() { s.balancers["new"] = elbtypes.LoadBalancerStateEnumProvisioning })
	s.balance("api", s.port, one.at())
	s.healthy("api", one)
	if got := s.address("new"); got.IsValid() {
		t.Error("it has the address ", got)
	}
	s.change(func() { s.balancers["new"] = elbtypes.LoadBalancerStateEnumActive })
	s.healthy("new", one)
}

func TestListenerFollowsItsTargetGroup(t *testing.T) {
	s, one, two := newScenario(t), serve(t, "one"), serve(t, "two")
	s.balance("api", s.port, one.at())
	s.balance("other", s.port, two.at())
	s.healthy("api", one)
	s.healthy("other", two)
	s.change(func() { s.listeners["api"][s.port] = "other" })
	s.eventually("its port forwards to the other group", func() bool {
		_, who := s.mustConnect("api")
		return who == "two"
	})
}

// Services with traffic that stays on the node use health checks of kube-proxy, which report the nodes with a pod.
func TestInstancesAreCheckedAtTheHealthCheckPortOfTheGroup(t *testing.T) {
	s, one := newScenario(t), serve(t, "one")
	pods := true
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !pods || req.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(proxy.Close)
	_, port, err := net.SplitHostPort(proxy.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.balance("api", s.port)
	s.change(func() {
		group := s.groups["api"]
		group.TargetType = elbtypes.TargetTypeEnumInstance
		group.HealthCheckProtocol, group.HealthCheckPath, group.HealthCheckPort = elbtypes.ProtocolEnumHttp, aws.String("/healthz"), aws.String(port)
		s.groups["api"] = group
		s.instances["i-1"] = "127.0.0.1"
		for _, id := range []string{"i-1", "i-gone"} {
			s.targets["api"] = append(s.targets["api"], elbtypes.TargetDescription{Id: aws.String(id), Port: aws.Int32(int32(one.at().Port()))})
		}
	})
	s.healthy("api", one)
	s.change(func() { pods = false })
	s.healthy("api")
}

func TestReleasedAddressesAreReusedLast(t *testing.T) {
	p := newPool(netip.MustParsePrefix("10.58.0.0/29"))
	take := func() string {
		address, free := p.take()
		if !free {
			return ""
		}
		return address.String()
	}
	var got []string
	for range 3 {
		got = append(got, take())
	}
	p.give(netip.MustParseAddr("10.58.0.2"))
	for range 5 {
		got = append(got, take())
	}
	want := []string{"10.58.0.1", "10.58.0.2", "10.58.0.3", "10.58.0.4", "10.58.0.5", "10.58.0.6", "10.58.0.2", ""}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// silent waits until the other end has not answered for a moment.
func silent(t *testing.T, c *net.TCPConn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 16)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("received %d bytes, %v", n, err)
	}
}

// A load balancer of AWS does not notify the ends that it has forgotten their connection. It answers their packets with RST.
func TestIdleConnectionsAreForgotten(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can close a connection without a packet")
	}
	const idle = 350 * time.Millisecond
	for name, tc := range map[string]struct {
		keepAlive time.Duration
		forgotten bool
	}{
		"an idle connection":                       {0, true},
		"a connection with keep-alives":            {time.Second, false},
		"keep-alives that come after the deadline": {3 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The kernel counts the interval of keep-alives in seconds.
			idle := idle
			if tc.keepAlive > 0 {
				idle = 2 * time.Second
			}
			s := newScenarioWith(t, Options{IdleTimeout: idle})
			a := serve(t, "a")
			s.balance("nlb", s.port, a.at())
			s.healthy("nlb", a)
			c, _ := s.mustConnect("nlb")
			must(t, c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: tc.keepAlive > 0, Idle: tc.keepAlive, Interval: tc.keepAlive, Count: 3}))
			time.Sleep(2 * idle)
			if tc.keepAlive == 0 {
				silent(t, c)
			}
			_, err := c.Write([]byte("hello"))
			if err == nil {
				_ = c.CloseWrite() // it fails if the connection is reset already
				must(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
				var echoed []byte
				if echoed, err = io.ReadAll(c); string(echoed) != "hello" && err == nil {
					err = fmt.Errorf("echoed %q", echoed)
				}
			}
			if got := errors.Is(err, syscall.ECONNRESET); got != tc.forgotten {
				t.Errorf("the connection was reset: %v, want %v: %v", got, tc.forgotten, err)
			}
		})
	}
}

// A target that gets the addresses of clients drops its own.
func TestTargetDoesNotReachItselfThroughAnInternalLoadBalancer(t *testing.T) {
	for name, tc := range map[string]struct {
		internal, preserving bool
		client               string
		reaches              bool
	}{
		"its own load balancer":                                {true, true, "i-target", false},
		"the load balancer of another instance":                {true, true, "i-other", true},
		"one that hides the addresses of clients":              {true, false, "i-target", true},
		"an internet-facing one, which sees a NAT address":     {false, true, "i-target", true},
		"its own load balancer, from outside of the instances": {true, true, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, "a")
			s := newScenarioWith(t, Options{Instance: func(vpc string, address netip.Addr) string {
				if address == a.at().Addr() && vpc == "" {
					return "i-target" // the VPC of the target
				}
				return tc.client
			}})
			s.internal["nlb"], s.preserving["nlb"] = tc.internal, tc.preserving
			s.balance("nlb", s.port, a.at())
			s.healthy("nlb", a)
			c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.address("nlb"), uint16(s.port))))
			must(t, err)
			defer func() { _ = c.Close() }()
			if !tc.reaches {
				silent(t, c)
				return
			}
			must(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
			if n, err := c.Read(make([]byte, 1)); n != 1 {
				t.Error(err)
			}
		})
	}
}

func TestEntriesDropClientsThatAreNotAllowed(t *testing.T) {
	var entries []Entry
	var allowed atomic.Bool
	port, err := process.FreePort()
	must(t, err)
	s := newScenarioWith(t, Options{Entries: func() []Entry { return entries }})
	entries = []Entry{{
		ID: "eni-1", Balancer: "nlb",
		Allows: func(client netip.Addr, at uint16) bool {
			return allowed.Load() && client.IsLoopback() && at == uint16(s.port)
		},
		Listen: func(uint16) (*net.TCPListener, error) {
			return net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		},
	}}
	a := serve(t, "a")
	s.balance("nlb", s.port, a.at())
	s.healthy("nlb", a)
	connect := func() *net.TCPConn {
		c, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	silent(t, connect())
	allowed.Store(true)
	c := connect()
	must(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	if n, err := c.Read(make([]byte, 1)); n != 1 {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Targets with the PROXY protocol read who the client is, and through which endpoint it comes.
func TestProxyProtocolNamesTheClient(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entry := Entry{ID: "eni-1", Balancer: "nlb", Endpoint: "vpce-0123456789abcdef0", Listen: func(uint16) (*net.TCPListener, error) { return listener.(*net.TCPListener), nil }}
	s := newScenarioWith(t, Options{Entries: func() []Entry { return []Entry{entry} }})
	a := serve(t, "a")
	s.announcing["nlb"] = true
	s.balance("nlb", s.port, a.at())
	s.healthy("nlb", a)
	direct, _ := s.mustConnect("nlb")
	through, err := net.DialTCP("tcp", nil, listener.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(through, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for endpoint, c := range map[string]*net.TCPConn{"": direct, entry.Endpoint: through} {
		_, err := io.WriteString(c, "hello")
		must(t, errors.Join(err, c.CloseWrite()))
		got, err := io.ReadAll(c)
		must(t, err)
		want := string(proxyprotocol.Header(c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort(), endpoint)) + "hello"
		if string(got) != want {
			t.Errorf("through endpoint %q the target received %q, want %q", endpoint, got, want)
		}
	}
}

package balancer

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// account is a fake of the AWS API. Tests set its content.
type account struct {
	mu        sync.Mutex
	err       error
	balancers map[string]elbtypes.LoadBalancerStateEnum
	listeners map[string]map[int32]string // by load balancer: port to group
	groups    map[string]elbtypes.TargetGroup
	targets   map[string][]elbtypes.TargetDescription // by group
	instances map[string]string                       // addresses by id
	internal  map[string]bool
	// preserving are the groups with targets that get the addresses of clients.
	preserving map[string]bool
	// announcing are the groups with the PROXY protocol.
	announcing map[string]bool
}

func newAccount() *account {
	return &account{
		balancers: map[string]elbtypes.LoadBalancerStateEnum{}, listeners: map[string]map[int32]string{},
		groups: map[string]elbtypes.TargetGroup{}, targets: map[string][]elbtypes.TargetDescription{}, instances: map[string]string{}, internal: map[string]bool{}, preserving: map[string]bool{}, announcing: map[string]bool{},
	}
}

// change changes the content.
func (a *account) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// balance creates a load balancer with one port that forwards to a group of addresses.
func (a *account) balance(name string, port int32, targets ...netip.AddrPort) {
	a.change(func() {
		a.balancers[name] = elbtypes.LoadBalancerStateEnumActive
		a.listeners[name] = map[int32]string{port: name}
		a.groups[name] = elbtypes.TargetGroup{
			TargetGroupArn: aws.String(name), TargetType: elbtypes.TargetTypeEnumIp,
			HealthCheckProtocol: elbtypes.ProtocolEnumTcp, HealthCheckPort: aws.String("traffic-port"),
		}
	})
	a.register(name, targets...)
}

// register sets the targets of a group.
func (a *account) register(group string, targets ...netip.AddrPort) {
	a.change(func() {
		a.targets[group] = nil
		for _, t := range targets {
			a.targets[group] = append(a.targets[group], elbtypes.TargetDescription{Id: aws.String(t.Addr().String()), Port: aws.Int32(int32(t.Port()))})
		}
	})
}

func (a *account) DescribeLoadBalancers(context.Context, *elb.DescribeLoadBalancersInput, ...func(*elb.Options)) (*elb.DescribeLoadBalancersOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := &elb.DescribeLoadBalancersOutput{}
	for name, state := range a.balancers {
		out.LoadBalancers = append(out.LoadBalancers, elbtypes.LoadBalancer{
			Type: elbtypes.LoadBalancerTypeEnumNetwork, State: &elbtypes.LoadBalancerState{Code: state},
			VpcId: aws.String("vpc-1"), Scheme: map[bool]elbtypes.LoadBalancerSchemeEnum{true: elbtypes.LoadBalancerSchemeEnumInternal, false: elbtypes.LoadBalancerSchemeEnumInternetFacing}[a.internal[name]],
			LoadBalancerArn: aws.String(name), LoadBalancerName: aws.String(name), DNSName: aws.String(name + ".elb.us-east-1.amazonaws.com"),
		})
	}
	return out, a.err
}

func (a *account) DescribeListeners(_ context.Context, in *elb.DescribeListenersInput, _ ...func(*elb.Options)) (*elb.DescribeListenersOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, there := a.listeners[aws.ToString(in.LoadBalancerArn)]; !there {
		return nil, &elbtypes.LoadBalancerNotFoundException{}
	}
	out := &elb.DescribeListenersOutput{}
	for port, group := range a.listeners[aws.ToString(in.LoadBalancerArn)] {
		out.Listeners = append(out.Listeners, elbtypes.Listener{
			Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(port), DefaultActions: []elbtypes.Action{{TargetGroupArn: aws.String(group)}},
		})
	}
	return out, nil
}

func (a *account) DescribeTargetGroups(context.Context, *elb.DescribeTargetGroupsInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupsOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := &elb.DescribeTargetGroupsOutput{}
	for _, group := range a.groups {
		out.TargetGroups = append(out.TargetGroups, group)
	}
	return out, nil
}

func (a *account) DescribeTargetGroupAttributes(_ context.Context, in *elb.DescribeTargetGroupAttributesInput, _ ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &elb.DescribeTargetGroupAttributesOutput{Attributes: []elbtypes.TargetGroupAttribute{
		{Key: aws.String("preserve_client_ip.enabled"), Value: aws.String(strconv.FormatBool(a.preserving[aws.ToString(in.TargetGroupArn)]))},
		{Key: aws.String("proxy_protocol_v2.enabled"), Value: aws.String(strconv.FormatBool(a.announcing[aws.ToString(in.TargetGroupArn)]))},
	}}, nil
}

func (a *account) DescribeTargetHealth(_ context.Context, in *elb.DescribeTargetHealthInput, _ ...func(*elb.Options)) (*elb.DescribeTargetHealthOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, there := a.targets[aws.ToString(in.TargetGroupArn)]; !there {
		return nil, &elbtypes.TargetGroupNotFoundException{}
	}
	out := &elb.DescribeTargetHealthOutput{}
	for _, target := range a.targets[aws.ToString(in.TargetGroupArn)] {
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, elbtypes.TargetHealthDescription{Target: &target})
	}
	return out, nil
}

func (a *account) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := &ec2.DescribeInstancesOutput{}
	for _, id := range in.Filters[0].Values {
		if address, there := a.instances[id]; there {
			out.Reservations = append(out.Reservations, ec2types.Reservation{Instances: []ec2types.Instance{{PrivateIpAddress: aws.String(address)}}})
		}
	}
	return out, nil
}

// server sends its name, and then everything that it receives.
type server struct {
	name     string
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func serve(t *testing.T, name string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, name, l)
}

func serveOn(t *testing.T, name string, l net.Listener) *server {
	s := &server{name: name, listener: l}
	s.wg.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *server) at() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

// restart listens again at the same address.
func (s *server) restart(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.at().Port()))))
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, s.name, l)
}

func (s *server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		s.wg.Go(func() { s.echo(c) })
	}
}

// hang accepts no more connections, but keeps the open ones.
func (s *server) hang() { s.listener.Close() }

// stop also closes the open connections.
func (s *server) stop() {
	s.hang()
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

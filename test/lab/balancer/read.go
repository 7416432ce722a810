package balancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/hosted-control-planes/hypershift/test/fixture/proxyprotocol"
)

// LoadBalancers are the calls about load balancers.
type LoadBalancers interface {
	DescribeLoadBalancers(context.Context, *elb.DescribeLoadBalancersInput, ...func(*elb.Options)) (*elb.DescribeLoadBalancersOutput, error)
	DescribeListeners(context.Context, *elb.DescribeListenersInput, ...func(*elb.Options)) (*elb.DescribeListenersOutput, error)
	DescribeTargetGroups(context.Context, *elb.DescribeTargetGroupsInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupsOutput, error)
	DescribeTargetGroupAttributes(context.Context, *elb.DescribeTargetGroupAttributesInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error)
	DescribeTargetHealth(context.Context, *elb.DescribeTargetHealthInput, ...func(*elb.Options)) (*elb.DescribeTargetHealthOutput, error)
}

// Instances are the calls about targets that are instances.
type Instances interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
}

// world is the desired state.
type world struct {
	balancers []balancerSpec
	groups    map[string]groupSpec // by ARN
	settled   bool                 // none is being created
}

type balancerSpec struct {
	arn, name, host string
	vpc             string
	internal        bool
	groups          map[uint16]string // ARN of the target group of a port
}

type groupSpec struct {
	// preserves: the targets get the addresses of clients.
	preserves bool
	// proxyProtocol: each connection begins with a header of the PROXY protocol.
	proxyProtocol bool
	targets       map[string]targetSpec // by id and port
}

type targetSpec struct {
	vpc      string
	balancer string // the load balancer of its group, by ARN
	address  netip.AddrPort
	check    check
}

// check is the health check of a target.
type check struct {
	address netip.AddrPort
	path    string // empty: a TCP connection is sufficient
	// header is sent first; empty without the PROXY protocol.
	header string
}

// reader reads the desired state.
type reader struct {
	elb LoadBalancers
	ec2 Instances
	// addresses of instances: they do not change during the life of an instance.
	addresses map[string]netip.Addr
}

func (r *reader) read(ctx context.Context) (*world, error) {
	w := &world{groups: map[string]groupSpec{}, settled: true}
	for pages := elb.NewDescribeLoadBalancersPaginator(r.elb, &elb.DescribeLoadBalancersInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing load balancers: %w", err)
		}
		for _, balancer := range page.LoadBalancers {
			if balancer.Type != elbtypes.LoadBalancerTypeEnumNetwork || balancer.State == nil {
				continue
			}
			if balancer.State.Code != elbtypes.LoadBalancerStateEnumActive {
				w.settled = w.settled && balancer.State.Code != elbtypes.LoadBalancerStateEnumProvisioning
				continue // its host name does not resolve yet
			}
			b := balancerSpec{arn: aws.ToString(balancer.LoadBalancerArn), name: aws.ToString(balancer.LoadBalancerName), host: aws.ToString(balancer.DNSName), vpc: aws.ToString(balancer.VpcId), internal: balancer.Scheme == elbtypes.LoadBalancerSchemeEnumInternal}
			b.groups, err = r.listeners(ctx, b.arn)
			if gone(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			w.balancers = append(w.balancers, b)
		}
	}
	for pages := elb.NewDescribeTargetGroupsPaginator(r.elb, &elb.DescribeTargetGroupsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing target groups: %w", err)
		}
		for _, group := range page.TargetGroups {
			spec, err := r.group(ctx, group)
			if gone(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			w.groups[aws.ToString(group.TargetGroupArn)] = spec
		}
	}
	return w, nil
}

// gone is true for a resource that was deleted after it was listed.
func gone(err error) bool {
	var balancer *elbtypes.LoadBalancerNotFoundException
	var group *elbtypes.TargetGroupNotFoundException
	return errors.As(err, &balancer) || errors.As(err, &group)
}

// listeners returns the target group of each port. It skips listeners of other protocols than TCP.
func (r *reader) listeners(ctx context.Context, balancer string) (map[uint16]string, error) {
	groups := map[uint16]string{}
	for pages := elb.NewDescribeListenersPaginator(r.elb, &elb.DescribeListenersInput{LoadBalancerArn: &balancer}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing the listeners of %s: %w", balancer, err)
		}
		for _, listener := range page.Listeners {
			if listener.Protocol != elbtypes.ProtocolEnumTcp && listener.Protocol != elbtypes.ProtocolEnumTcpUdp {
				continue
			}
			for _, action := range listener.DefaultActions {
				group := aws.ToString(action.TargetGroupArn)
				if forward := action.ForwardConfig; group == "" && forward != nil && len(forward.TargetGroups) > 0 {
					group = aws.ToString(forward.TargetGroups[0].TargetGroupArn)
				}
				groups[uint16(aws.ToInt32(listener.Port))] = group
			}
		}
	}
	return groups, nil
}

func (r *reader) group(ctx context.Context, group elbtypes.TargetGroup) (groupSpec, error) {
	health, err := r.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: group.TargetGroupArn})
	if err != nil {
		return groupSpec{}, fmt.Errorf("describing the targets of %s: %w", aws.ToString(group.TargetGroupArn), err)
	}
	spec, balancer := groupSpec{targets: map[string]targetSpec{}}, ""
	if spec.preserves, spec.proxyProtocol, err = r.attributes(ctx, group); err != nil {
		return groupSpec{}, err
	}
	if len(group.LoadBalancerArns) > 0 {
		balancer = group.LoadBalancerArns[0]
	}
	for _, registered := range health.TargetHealthDescriptions {
		target := registered.Target
		id, port := aws.ToString(target.Id), uint16(aws.ToInt32(cmp.Or(target.Port, group.Port)))
		address, err := r.address(ctx, group.TargetType, id)
		if err != nil {
			return groupSpec{}, err
		}
		if !address.IsValid() {
			continue // it is gone, and will be deregistered
		}
		at := netip.AddrPortFrom(address, port)
		spec.targets[net.JoinHostPort(id, strconv.Itoa(int(port)))] = targetSpec{vpc: aws.ToString(group.VpcId), balancer: balancer, address: at, check: checkOf(group, at, spec.proxyProtocol)}
	}
	return spec, nil
}

// attributes reads the attributes of a group that change what its targets see. By default instances get the addresses of clients, and
// addresses do not: https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
func (r *reader) attributes(ctx context.Context, group elbtypes.TargetGroup) (preserves, proxyProtocol bool, err error) {
	described, err := r.elb.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: group.TargetGroupArn})
	if err != nil {
		return false, false, fmt.Errorf("describing the attributes of %s: %w", aws.ToString(group.TargetGroupArn), err)
	}
	preserves = group.TargetType == elbtypes.TargetTypeEnumInstance
	for _, a := range described.Attributes {
		switch enabled := aws.ToString(a.Value) == "true"; aws.ToString(a.Key) {
		case "preserve_client_ip.enabled":
			preserves = enabled
		case "proxy_protocol_v2.enabled":
			proxyProtocol = enabled
		}
	}
	return preserves, proxyProtocol, nil
}

// address returns the address of a target, or the zero address for an instance that does not exist.
func (r *reader) address(ctx context.Context, kind elbtypes.TargetTypeEnum, id string) (netip.Addr, error) {
	if kind == elbtypes.TargetTypeEnumIp {
		return netip.ParseAddr(id)
	}
	if known, ok := r.addresses[id]; ok {
		return known, nil
	}
	// A filter, because an unknown id would be an error.
	filter := ec2types.Filter{Name: aws.String("instance-id"), Values: []string{id}}
	described, err := r.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{filter}})
	if err != nil {
		return netip.Addr{}, fmt.Errorf("describing instance %s: %w", id, err)
	}
	for _, reservation := range described.Reservations {
		for _, instance := range reservation.Instances {
			address, err := netip.ParseAddr(aws.ToString(instance.PrivateIpAddress))
			if err == nil {
				r.addresses[id] = address
				return address, nil
			}
		}
	}
	return netip.Addr{}, nil
}

// checkOf is the health check of a target group. Its default port is the target's port.
func checkOf(group elbtypes.TargetGroup, target netip.AddrPort, proxyProtocol bool) check {
	c := check{address: target}
	if proxyProtocol {
		c.header = string(proxyprotocol.Local())
	}
	if port, err := strconv.ParseUint(aws.ToString(group.HealthCheckPort), 10, 16); err == nil {
		c.address = netip.AddrPortFrom(target.Addr(), uint16(port))
	}
	if group.HealthCheckProtocol == elbtypes.ProtocolEnumHttp {
		c.path = cmp.Or(aws.ToString(group.HealthCheckPath), "/")
	}
	return c
}

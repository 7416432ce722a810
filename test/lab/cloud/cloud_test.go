package cloud

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/isolated"
)

// network is a network of which all addresses belong to this machine.
var network = netip.MustParsePrefix("127.61.0.0/16")

func startCloud(t *testing.T, services ...netip.AddrPort) *Cloud {
	t.Helper()
	return startCloudAt(t, "127.0.0.1", services...)
}

func startCloudAt(t *testing.T, host string, services ...netip.AddrPort) *Cloud {
	t.Helper()
	var ports [3]int
	for i := range ports {
		var err error
		if ports[i], err = process.FreePort(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // refused requests are read from the emulator at the end
	c, err := Start(ctx, Options{
		Host: host, Port: ports[0], DNSPort: ports[1], TLSPort: ports[2],
		Network: network, Balancers: netip.MustParsePrefix("127.60.0.0/16"),
		Services: services, Dir: t.TempDir(), Progress: t.Output(),
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		c.Wait()
	})
	c.AWS.FailOnRefused(t, "")
	return c
}

// greet is a server that responds with hello; it returns its port.
func greet(t *testing.T, address netip.Addr) int32 {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello")
			c.Close()
		}
	}()
	return int32(l.Addr().(*net.TCPAddr).Port)
}

// must is for calls that prepare the test.
func must[T any](t *testing.T) func(T, error) T {
	return func(made T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
}

// eventually retries until success.
func eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

// The resources for a request in a private cluster, created by hand. The operators and controllers of AWS that create them
// are tested elsewhere.
func TestCustomerReachesANodeThroughAnEndpoint(t *testing.T) {
	isolated.Require(t)
	c := startCloud(t, netip.MustParseAddrPort("127.0.0.1:5000"))
	address := Address(network, "us-east-1b", 11)
	port := greet(t, address)
	machine := must[awsemulator.Instance](t)(c.RunInstance(t.Context(), c.Management, awsemulator.InstanceOptions{Name: "m1", Zone: "us-east-1b", Address: address.String()}))
	if machine.PrivateIP != address.String() || machine.Zone != "us-east-1b" {
		t.Errorf("the instance is %+v", machine)
	}

	config := c.AWS.Config(c.Management.Account)
	balancers, services := elb.NewFromConfig(config), ec2.NewFromConfig(config)
	nlb := must[*elb.CreateLoadBalancerOutput](t)(balancers.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
		Name: aws.String("router"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Scheme: elbtypes.LoadBalancerSchemeEnumInternal,
		Subnets: []string{c.Management.Private[1].ID},
	})).LoadBalancers[0]
	group := must[*elb.CreateTargetGroupOutput](t)(balancers.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
		Name: aws.String("router"), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(port), VpcId: &c.Management.VPC, TargetType: elbtypes.TargetTypeEnumInstance,
	})).TargetGroups[0]
	eventually(t, "the instance runs, so that it can be registered", func(ctx context.Context) error {
		_, err := balancers.RegisterTargets(ctx, &elb.RegisterTargetsInput{
			TargetGroupArn: group.TargetGroupArn, Targets: []elbtypes.TargetDescription{{Id: &machine.ID}},
		})
		return err
	})
	must[*elb.CreateListenerOutput](t)(balancers.CreateListener(t.Context(), &elb.CreateListenerInput{
		LoadBalancerArn: nlb.LoadBalancerArn, Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(7443),
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: group.TargetGroupArn}},
	}))
	available := elb.NewLoadBalancerAvailableWaiter(balancers, func(o *elb.LoadBalancerAvailableWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	})
	if err := available.Wait(t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{*nlb.LoadBalancerArn}}, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	service := must[*ec2.CreateVpcEndpointServiceConfigurationOutput](t)(services.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: []string{*nlb.LoadBalancerArn}, AcceptanceRequired: aws.Bool(false),
	})).ServiceConfiguration
	must[*ec2.ModifyVpcEndpointServicePermissionsOutput](t)(services.ModifyVpcEndpointServicePermissions(t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{
		ServiceId: service.ServiceId, AddAllowedPrincipals: []string{"arn:aws:iam::" + awsemulator.CustomerAccount + ":root"},
	}))

	customer := must[*awsemulator.Customer](t)(c.AWS.SeedCustomer(t.Context(), awsemulator.CustomerOptions{Name: "demo", InfraID: "demo-1", Issuer: "https://issuer.example.test"}))
	theirs := c.AWS.Config(customer.Account)
	endpoint := must[*ec2.CreateVpcEndpointOutput](t)(ec2.NewFromConfig(theirs).CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{
		VpcEndpointType: ec2types.VpcEndpointTypeInterface, ServiceName: service.ServiceName, VpcId: &customer.VPC, SubnetIds: []string{customer.Subnets[1].ID}, // in the zone of the machine
	})).VpcEndpoint
	must[*route53.ChangeResourceRecordSetsOutput](t)(route53.NewFromConfig(theirs).ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &customer.LocalZoneID,
		ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{Action: route53types.ChangeActionUpsert, ResourceRecordSet: &route53types.ResourceRecordSet{
			Name: aws.String("api." + customer.LocalZone), Type: route53types.RRTypeCname, TTL: aws.Int64(60),
			ResourceRecords: []route53types.ResourceRecord{{Value: endpoint.DnsEntries[0].DnsName}},
		}}}},
	}))

	hello := func(dial func(ctx context.Context, network, address string) (net.Conn, error), host string) func(context.Context) error {
		return func(ctx context.Context) error {
			conn, err := dial(ctx, "tcp4", net.JoinHostPort(host, strconv.Itoa(7443)))
			if err != nil {
				return err
			}
			defer conn.Close()
			said, err := io.ReadAll(conn)
			if err == nil && string(said) != "hello" {
				err = fmt.Errorf("the response is %q", said)
			}
			return err
		}
	}
	status := c.Status()
	names := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, status.DNS)
	}}
	eventually(t, "the management cluster reaches the load balancer", hello((&net.Dialer{Resolver: names}).DialContext, *nlb.DNSName))

	theirNames := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return inVPC(ctx, c, customer.VPC, "169.254.169.253:53")
	}}
	through := func(ctx context.Context, _, address string) (net.Conn, error) {
		host, port, _ := net.SplitHostPort(address)
		found, err := theirNames.LookupHost(ctx, host)
		if err != nil {
			return nil, err
		}
		return inVPC(ctx, c, customer.VPC, net.JoinHostPort(found[0], port))
	}
	private := "api." + customer.LocalZone
	eventually(t, "the customer reaches the machine", hello(through, private))
	if found, err := names.LookupHost(t.Context(), private); err == nil {
		t.Errorf("the management cluster resolves a name of the customer's private zone: %s", found)
	}

	began := time.Now()
	permissions := &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: service.ServiceId, RemoveAllowedPrincipals: []string{"arn:aws:iam::" + awsemulator.CustomerAccount + ":root"}}
	must[*ec2.ModifyVpcEndpointServicePermissionsOutput](t)(services.ModifyVpcEndpointServicePermissions(t.Context(), permissions))
	eventually(t, "the customer is cut off without permission", func(ctx context.Context) error {
		if err := hello(through, private)(ctx); err == nil {
			return errors.New("it is connected")
		}
		return nil
	})
	t.Logf("the customer was cut off %.2f s after the call", time.Since(began).Seconds())
	if status := c.Status(); len(status.LoadBalancers) != 1 || status.LoadBalancers[0].Host != *nlb.DNSName || len(status.Trouble) > 0 {
		t.Errorf("the status is %+v", status)
	}
}

// inVPC connects from the router of a VPC.
func inVPC(ctx context.Context, c *Cloud, vpc, address string) (net.Conn, error) {
	r := c.Network().Router(vpc)
	if r == nil {
		return nil, errors.New("the VPC has no router yet")
	}
	to := netip.MustParseAddrPort(address)
	return r.DialContext(ctx, to.Addr(), to)
}

func TestZonesHaveTheSameOrderByNameAndID(t *testing.T) {
	c := startCloud(t)
	var zones []string
	for _, subnet := range c.Management.Private {
		zones = append(zones, subnet.Zone+"="+subnet.ZoneID)
		if address := Address(network, subnet.Zone, 11); !netip.MustParsePrefix(subnet.CIDR).Contains(address) {
			t.Errorf("a machine in %s has the address %s, which is not in %s", subnet.Zone, address, subnet.CIDR)
		}
	}
	if want := "us-east-1a=use1-az1 us-east-1b=use1-az2 us-east-1c=use1-az4"; strings.Join(zones, " ") != want {
		t.Errorf("%q, want %q", zones, want)
	}
}

func TestOnlyCallsThatChangeTrafficCauseARead(t *testing.T) {
	for sentence, c := range map[string]struct {
		call awsemulator.Call
		want bool
	}{
		"a listener is created":            {awsemulator.Call{Service: "elasticloadbalancing", Action: "CreateListener", Status: 200}, true},
		"a record is changed":              {awsemulator.Call{Service: "route53", Action: "ChangeResourceRecordSets", Status: 200}, true},
		"an endpoint is deleted":           {awsemulator.Call{Service: "ec2", Action: "DeleteVpcEndpoints", Status: 200}, true},
		"a resource is described":          {awsemulator.Call{Service: "ec2", Action: "DescribeVpcEndpoints", Status: 200}, false},
		"resources are listed":             {awsemulator.Call{Service: "route53", Action: "ListHostedZones", Status: 200}, false},
		"the call is rejected":             {awsemulator.Call{Service: "ec2", Action: "DeleteVpcEndpoints", Status: 400}, false},
		"the response is lost":             {awsemulator.Call{Service: "ec2", Action: "DeleteVpcEndpoints"}, true},
		"the call does not affect traffic": {awsemulator.Call{Service: "s3", Action: "PutObject", Status: 200}, false},
	} {
		if got := alters(c.call); got != c.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

func TestInstancesOfCustomersAreReported(t *testing.T) {
	c := startCloud(t)
	ctx, cancel := context.WithCancel(t.Context())
	var reported atomic.Pointer[[]Worker]
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		c.FollowWorkers(ctx, t.Output(), func(_ context.Context, workers []Worker) error {
			reported.Store(&workers)
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-followed
	})
	customer := must[*awsemulator.Customer](t)(c.AWS.SeedCustomer(t.Context(), awsemulator.CustomerOptions{Name: "demo", InfraID: "demo-1", Issuer: "https://issuer.example.test"}))
	client := ec2.NewFromConfig(c.AWS.Config(customer.Account))
	made := must[*ec2.RunInstancesOutput](t)(client.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), InstanceType: ec2types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: &customer.Subnets[1].ID, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("data"))),
	})).Instances[0]
	must[awsemulator.Instance](t)(c.RunInstance(t.Context(), c.Management, awsemulator.InstanceOptions{Name: "m1", Zone: "us-east-1b"}))
	eventually(t, "the instance of the customer is reported, but not that of the management cluster", func(context.Context) error {
		if w := reported.Load(); w == nil || len(*w) != 1 {
			return fmt.Errorf("%+v", w)
		}
		return nil
	})
	w := (*reported.Load())[0]
	if w.ID != *made.InstanceId || w.Zone != customer.Subnets[1].Zone || w.Hostname != *made.PrivateDnsName || w.Address.String() != *made.PrivateIpAddress || w.VPC != customer.VPC || string(w.UserData) != "data" {
		t.Errorf("%+v", w)
	}
	must[*ec2.TerminateInstancesOutput](t)(client.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{w.ID}}))
	eventually(t, "its end is reported", func(context.Context) error {
		if w := reported.Load(); len(*w) != 0 {
			return fmt.Errorf("%+v", *w)
		}
		return nil
	})
}

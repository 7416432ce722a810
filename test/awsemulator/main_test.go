package awsemulator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/ram"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// emulator is shared by all tests of the package; each test has accounts of its own.
var emulator *awsemulator.Emulator

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if emulator, err = awsemulator.Start(context.Background(), awsemulator.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer emulator.Stop()
		if err := atOnce(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return emulator.Run(m)
	}())
}

// atOnce lifts the limits of requests, and makes everything visible at once, until the next reset. Most tests make their calls once,
// and want to know the answer.
func atOnce(ctx context.Context) error {
	if err := emulator.SetDelays(ctx, awsemulator.Delays{"visibility": 0, "iam.visibility": 0, "s3.publicAccess": 0}); err != nil {
		return err
	}
	for _, rule := range awsrules.All {
		if rule.Refill > 0 {
			if err := emulator.Enforce(ctx, rule.ID, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// account is one AWS account, with the clients that a test needs.
type account struct {
	id    string
	ec2   *ec2.Client
	elb   *elbv2.Client
	dns   *route53.Client
	ram   *ram.Client
	s3    *s3.Client
	sts   *sts.Client
	vpc   string
	zones []string // names, ordered by zone id, so that accounts can be compared
}

// newAccount gives an account with a VPC, and sets the clock of this test: everything
// is ready and gone at once unless the test says otherwise.
func newAccount(t *testing.T) *account {
	t.Helper()
	instantly(t)
	id := emulator.Account(t)
	a := accountWith(t, id, emulator.Config(id))
	vpc, err := a.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	must(t, err)
	a.vpc = *vpc.Vpc.VpcId
	zones, err := a.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{})
	must(t, err)
	for i := range zones.AvailabilityZones {
		want := fmt.Sprintf("use1-az%d", i+1)
		for _, z := range zones.AvailabilityZones {
			if *z.ZoneId == want {
				a.zones = append(a.zones, *z.ZoneName)
			}
		}
	}
	return a
}

func accountWith(t *testing.T, id string, config aws.Config) *account {
	t.Helper()
	config.RetryMaxAttempts = 1
	return &account{
		id:  id,
		ec2: ec2.NewFromConfig(config),
		elb: elbv2.NewFromConfig(config),
		dns: route53.NewFromConfig(config),
		ram: ram.NewFromConfig(config),
		s3:  s3.NewFromConfig(config),
		sts: sts.NewFromConfig(config),
	}
}

// instantly sets all delays to zero; slowly lets a transition take for ever, until
// instantly ends it.
func instantly(t *testing.T) { delays(t, 0) }
func slowly(t *testing.T)    { delays(t, time.Hour) }

func delays(t *testing.T, d time.Duration) {
	t.Helper()
	must(t, emulator.SetDelays(t.Context(), awsemulator.Delays{
		"endpoint.create": d, "endpoint.delete": d, "loadBalancer.create": d, "loadBalancer.delete": d, "instance.create": d,
		"instance.delete": d, "natGateway.create": d, "natGateway.delete": d, "route53.change": d,
		"resourceShare.create": d, "resourceShare.delete": d,
	}))
}

func (a *account) subnet(t *testing.T, cidr string, zone int) string {
	t.Helper()
	made, err := a.ec2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{
		VpcId: aws.String(a.vpc), CidrBlock: aws.String(cidr), AvailabilityZone: aws.String(a.zones[zone]),
	})
	must(t, err)
	return *made.Subnet.SubnetId
}

func (a *account) securityGroup(t *testing.T, name string) string {
	t.Helper()
	made, err := a.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(name), Description: aws.String(name), VpcId: aws.String(a.vpc),
	})
	must(t, err)
	return *made.GroupId
}

func (a *account) nlb(t *testing.T, name string, subnets ...string) elbv2types.LoadBalancer {
	t.Helper()
	made, err := a.elb.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: aws.String(name), Type: elbv2types.LoadBalancerTypeEnumNetwork,
		Scheme: elbv2types.LoadBalancerSchemeEnumInternal, Subnets: subnets,
	})
	must(t, err)
	return made.LoadBalancers[0]
}

func (a *account) service(t *testing.T, acceptance bool, nlb string) *types.ServiceConfiguration {
	t.Helper()
	made, err := a.ec2.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: []string{nlb}, AcceptanceRequired: aws.Bool(acceptance),
	})
	must(t, err)
	return made.ServiceConfiguration
}

func (a *account) allow(t *testing.T, service, principal string) {
	t.Helper()
	_, err := a.ec2.ModifyVpcEndpointServicePermissions(t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{
		ServiceId: aws.String(service), AddAllowedPrincipals: []string{principal},
	})
	must(t, err)
}

func (a *account) endpoint(t *testing.T, service string, subnets ...string) *types.VpcEndpoint {
	t.Helper()
	made, err := a.ec2.CreateVpcEndpoint(t.Context(), interfaceEndpoint(a.vpc, service, subnets...))
	must(t, err)
	return made.VpcEndpoint
}

func interfaceEndpoint(vpc, service string, subnets ...string) *ec2.CreateVpcEndpointInput {
	return &ec2.CreateVpcEndpointInput{
		VpcId: aws.String(vpc), ServiceName: aws.String(service),
		VpcEndpointType: types.VpcEndpointTypeInterface, SubnetIds: subnets,
	}
}

func (a *account) describeEndpoint(t *testing.T, id string) types.VpcEndpoint {
	t.Helper()
	found, err := a.ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{id}})
	must(t, err)
	return found.VpcEndpoints[0]
}

func (a *account) deleteEndpoint(t *testing.T, id string) {
	t.Helper()
	answer, err := a.ec2.DeleteVpcEndpoints(t.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{id}})
	must(t, err)
	if len(answer.Unsuccessful) > 0 {
		t.Fatalf("deleting %s: %s", id, *answer.Unsuccessful[0].Error.Code)
	}
}

// pair is a provider with a service in two zones, and a customer that may use it.
type pair struct {
	provider, customer *account
	service            *types.ServiceConfiguration
	nlb                elbv2types.LoadBalancer
	subnets            []string // the customer's, in the zones of the service
}

func newPair(t *testing.T, acceptance bool) *pair {
	t.Helper()
	p := &pair{provider: newAccount(t), customer: newAccount(t)}
	p.nlb = p.provider.nlb(t, "private-router", p.provider.subnet(t, "10.0.0.0/24", 0), p.provider.subnet(t, "10.0.1.0/24", 1))
	p.service = p.provider.service(t, acceptance, *p.nlb.LoadBalancerArn)
	p.provider.allow(t, *p.service.ServiceId, "arn:aws:iam::"+p.customer.id+":root")
	p.subnets = []string{p.customer.subnet(t, "10.0.0.0/24", 0), p.customer.subnet(t, "10.0.1.0/24", 1)}
	return p
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused checks that AWS's own code came back; "" means that the call went through.
func refused(t *testing.T, err error, code string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	var apiError smithy.APIError
	if errors.As(err, &apiError) {
		got = apiError.ErrorCode()
	}
	if got != code {
		t.Errorf("got %q (%v), want %q", got, err, code)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

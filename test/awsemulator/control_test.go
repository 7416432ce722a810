package awsemulator_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func TestEachFaultHasTheCodeOfItsService(t *testing.T) {
	a := newAccount(t)
	calls := map[string]func() error{
		"ec2": func() error { _, err := a.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); return err },
		"elasticloadbalancing": func() error {
			_, err := a.elb.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{})
			return err
		},
		"route53": func() error {
			_, err := a.dns.ListHostedZones(t.Context(), &route53.ListHostedZonesInput{})
			return err
		},
		"s3": func() error { _, err := a.s3.ListBuckets(t.Context(), &s3.ListBucketsInput{}); return err },
		"sts": func() error {
			_, err := a.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			return err
		},
	}
	for service, codes := range map[string]map[awsemulator.FaultKind]string{
		"ec2": {awsemulator.Throttle: "RequestLimitExceeded", awsemulator.ServerError: "InternalError", awsemulator.Unavailable: "Unavailable",
			awsemulator.Expired: "RequestExpired", awsemulator.Denied: "UnauthorizedOperation"},
		"elasticloadbalancing": {awsemulator.Throttle: "Throttling", awsemulator.ServerError: "InternalFailure", awsemulator.Unavailable: "ServiceUnavailable",
			awsemulator.Expired: "ExpiredToken", awsemulator.Denied: "AccessDenied"},
		"route53": {awsemulator.Throttle: "Throttling", awsemulator.ServerError: "InternalFailure", awsemulator.Unavailable: "ServiceUnavailable",
			awsemulator.Expired: "ExpiredToken", awsemulator.Denied: "AccessDenied"},
		"s3": {awsemulator.Throttle: "SlowDown", awsemulator.ServerError: "InternalError", awsemulator.Unavailable: "ServiceUnavailable",
			awsemulator.Expired: "ExpiredToken", awsemulator.Denied: "AccessDenied"},
		"sts": {awsemulator.Throttle: "Throttling", awsemulator.ServerError: "InternalFailure", awsemulator.Unavailable: "ServiceUnavailable",
			awsemulator.Expired: "ExpiredToken", awsemulator.Denied: "AccessDenied"},
	} {
		for kind, code := range codes {
			t.Run(service+" "+string(kind), func(t *testing.T) {
				must(t, emulator.Fault(t.Context(), awsemulator.Fault{Kind: kind, Service: service, Account: a.id}))
				refused(t, calls[service](), code)
				refused(t, calls[service](), "")
			})
		}
	}
}

func TestAFaultHitsOnlyWhatItNames(t *testing.T) {
	a, b := newAccount(t), newAccount(t)
	must(t, emulator.Fault(t.Context(), awsemulator.Fault{
		Kind: awsemulator.Error, Code: "InsufficientFreeAddressesInSubnet", Service: "ec2", Action: "DescribeVpcs", Account: a.id, Skip: 1, Count: awsemulator.Forever,
	}))
	describe := func(a *account) error {
		_, err := a.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
		return err
	}
	left := func() int {
		t.Helper()
		faults, err := emulator.FaultsLeft(t.Context(), a.id)
		must(t, err)
		return len(faults)
	}
	equal(t, "faults", left(), 1)
	refused(t, describe(a), "")
	refused(t, describe(a), "InsufficientFreeAddressesInSubnet")
	refused(t, describe(b), "")
	_, err := a.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	refused(t, err, "")
	refused(t, describe(a), "InsufficientFreeAddressesInSubnet")
	must(t, emulator.ClearFaults(t.Context()))
	refused(t, describe(a), "")
	must(t, emulator.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.Latency, Action: "DescribeVpcs", Account: a.id}))
	equal(t, "faults", left(), 1)
	refused(t, describe(a), "")
	equal(t, "faults after the call", left(), 0)

	if err := emulator.Fault(t.Context(), awsemulator.Fault{Kind: "earthquake"}); err == nil {
		t.Error("a kind that does not exist was accepted")
	}
}

func TestABrokenConnectionMayHaveDoneItsWork(t *testing.T) {
	for kind, done := range map[awsemulator.FaultKind]int{awsemulator.Reset: 0, awsemulator.AnswerLost: 1} {
		t.Run(string(kind), func(t *testing.T) {
			p := newPair(t, false)
			must(t, emulator.Fault(t.Context(), awsemulator.Fault{Kind: kind, Action: "CreateVpcEndpoint", Account: p.customer.id}))
			_, err := createEndpoint(t, p, "token", p.subnets...)
			var apiError smithy.APIError
			if err == nil || errors.As(err, &apiError) {
				t.Fatalf("got %v, want a broken connection", err)
			}
			found, err := p.customer.ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
			must(t, err)
			equal(t, "endpoints", len(found.VpcEndpoints), done)

			_, err = createEndpoint(t, p, "token", p.subnets...)
			must(t, err)
			found, err = p.customer.ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
			must(t, err)
			equal(t, "endpoints after the second try", len(found.VpcEndpoints), 1)
		})
	}
}

func TestANewResourceMayNotBeVisibleYet(t *testing.T) {
	p := newPair(t, false)
	visible := func(d time.Duration) {
		t.Helper()
		must(t, emulator.SetDelays(t.Context(), awsemulator.Delays{"visibility": d}))
	}
	t.Cleanup(func() {
		_ = emulator.SetDelays(context.WithoutCancel(t.Context()), awsemulator.Delays{"visibility": 0})
	})
	visible(time.Hour)
	endpoint := p.customer.endpoint(t, *p.service.ServiceName, p.subnets...)
	group := p.customer.securityGroup(t, "new")
	_, err := p.customer.ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{*endpoint.VpcEndpointId}})
	refused(t, err, "InvalidVpcEndpointId.NotFound")
	_, err = p.customer.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	refused(t, err, "InvalidGroup.NotFound")
	count := func() (endpoints, groups int) {
		e, err := p.customer.ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
		must(t, err)
		g, err := p.customer.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("group-id", group)}})
		must(t, err)
		return len(e.VpcEndpoints), len(g.SecurityGroups)
	}
	endpoints, groups := count()
	equal(t, "endpoints and groups at first", endpoints+groups, 0)
	visible(0)
	endpoints, groups = count()
	equal(t, "endpoints later", endpoints, 1)
	equal(t, "groups later", groups, 1)
}

func TestRefusalsComeInAWSsOwnWords(t *testing.T) {
	a := newAccount(t)
	stranger := emulator.Config("")
	stranger.Credentials = credentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "any", "")
	nobody := accountWith(t, "", stranger)
	for sentence, c := range map[string]struct {
		call func() error
		want string
	}{
		"an unknown filter": {func() error {
			_, err := a.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("colour", "blue")}})
			return err
		}, "InvalidParameterValue"},
		"an unknown action": {func() error {
			_, err := a.ec2.CreateCapacityReservation(t.Context(), &ec2.CreateCapacityReservationInput{InstanceType: aws.String("m5.large"), InstancePlatform: "Linux/UNIX", InstanceCount: aws.Int32(1)})
			return err
		}, "InvalidAction"},
		"an unknown path": {func() error {
			_, err := a.dns.ListTrafficPolicies(t.Context(), &route53.ListTrafficPoliciesInput{})
			return err
		}, "InvalidAction"},
		"a dry run": {func() error {
			_, err := a.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{DryRun: aws.Bool(true)})
			return err
		}, "DryRunOperation"},
		"a key that nobody issued, to EC2": {func() error {
			_, err := nobody.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
			return err
		}, "AuthFailure"},
		"a key that nobody issued, to STS": {func() error {
			_, err := nobody.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			return err
		}, "InvalidClientTokenId"},
	} {
		t.Run(sentence, func(t *testing.T) { refused(t, c.call(), c.want) })
	}
}

func TestTheLogSaysWhoCalledWhat(t *testing.T) {
	a := newAccount(t)
	role, err := emulator.Role(t.Context(), a.id, "reader", awsemulator.TrustRole("arn:aws:iam::"+a.id+":root"))
	must(t, err)
	session := accountWith(t, a.id, assume(t, a, role))
	must(t, emulator.ForgetCalls(t.Context()))
	_, err = session.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("vpc-id", a.vpc)}})
	must(t, err)
	_, err = a.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("no-such-bucket"), Key: aws.String("x/y")})
	refused(t, err, "NoSuchBucket")

	calls, err := emulator.Calls(t.Context())
	must(t, err)
	equal(t, "calls", len(calls), 2)
	first, second := calls[0], calls[1]
	equal(t, "name", first.Name(), "ec2.DescribeSubnets")
	equal(t, "account", first.Account, a.id)
	equal(t, "role", first.Role, role)
	equal(t, "caller", first.Caller, "arn:aws:sts::"+a.id+":assumed-role/reader/test")
	equal(t, "outcome", first.Outcome, "ok")
	equal(t, "parameter", first.Params["Filter.1.Value.1"], a.vpc)
	equal(t, "name", second.Name(), "s3.GetObject")
	equal(t, "role of a root", second.Role, "")
	equal(t, "outcome", second.Outcome, "NoSuchBucket")
	equal(t, "parameter", second.Params["path"], "/no-such-bucket/x/y")
}

func TestTheLogCanBeFollowed(t *testing.T) {
	a := newAccount(t)
	must(t, emulator.ForgetCalls(t.Context()))
	describe := func() {
		_, err := a.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
		must(t, err)
	}
	describe()
	calls, err := emulator.Calls(t.Context())
	must(t, err)
	next := calls[len(calls)-1].Number + 1
	must(t, emulator.ForgetCalls(t.Context()))
	describe()
	calls, err = emulator.CallsSince(t.Context(), next)
	must(t, err)
	equal(t, "calls after others were forgotten", len(calls), 1)
}

func TestSharedManagementAccountIsAsBeforeAfterwards(t *testing.T) {
	instantly(t)
	provider := emulator.Account(t)
	first, err := emulator.SeedManagement(t.Context(), awsemulator.ManagementOptions{Account: provider, Bucket: "oidc-" + provider})
	must(t, err)
	api := ec2.NewFromConfig(emulator.Config(provider))
	state := func() string {
		t.Helper()
		resources, err := emulator.Resources(t.Context(), provider)
		must(t, err)
		tags, err := api.DescribeTags(t.Context(), &ec2.DescribeTagsInput{Filters: []types.Filter{{Name: aws.String("resource-type"), Values: []string{"subnet"}}}})
		must(t, err)
		return fmt.Sprint(resources, len(tags.Tags))
	}
	before := state()
	second, err := emulator.ShareManagement(t.Context(), first, "second", netip.MustParseAddr("10.0.0.2"))
	must(t, err)
	equal(t, "network and bucket", second.VPC+second.Bucket, first.VPC+first.Bucket)
	if second.SecurityGroup == first.SecurityGroup {
		t.Error("nodes of both clusters are in one security group")
	}
	found, err := api.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: aws.String("tag:kubernetes.io/cluster/second"), Values: []string{"shared"}}}})
	must(t, err)
	equal(t, "subnets of the second cluster", len(found.Subnets), len(first.Private)+len(first.Public))
	instance, err := emulator.RunInstance(t.Context(), second, awsemulator.InstanceOptions{Zone: second.Private[0].Zone})
	must(t, err)
	left, err := emulator.Leftovers(t.Context(), provider)
	must(t, err)
	equal(t, "left", strings.Join(left, "\n"), "")
	_, err = api.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{instance.ID}})
	must(t, err)
	for range 2 { // the second one finds nothing
		must(t, emulator.UnshareManagement(t.Context(), second))
	}
	equal(t, "the account afterwards", state(), before)
}

func TestLeftoversAreWhatTheSeedDidNotMake(t *testing.T) {
	instantly(t)
	provider, customer := emulator.Account(t), emulator.Account(t)
	management, err := emulator.SeedManagement(t.Context(), awsemulator.ManagementOptions{Account: provider, Bucket: "oidc-" + provider})
	must(t, err)
	seeded, err := emulator.SeedCustomer(t.Context(), awsemulator.CustomerOptions{Account: customer, Name: "demo", InfraID: "demo-abcde", Issuer: "https://issuer.test"})
	must(t, err)
	for _, id := range []string{provider, customer} {
		left, err := emulator.Leftovers(t.Context(), id)
		must(t, err)
		equal(t, "left after the seed in "+id, strings.Join(left, "\n"), "")
	}
	equal(t, "instances", len(management.Instances), 3)
	for i := range management.Private {
		equal(t, "zone id of both sides", seeded.Subnets[i].ZoneID, management.Private[i].ZoneID)
	}

	p, c := accountWith(t, provider, emulator.Config(provider)), accountWith(t, customer, emulator.Config(customer))
	p.vpc, c.vpc = management.VPC, seeded.VPC
	nlb := p.nlb(t, "nlb", management.Private[0].ID)
	service := p.service(t, false, *nlb.LoadBalancerArn)
	p.allow(t, *service.ServiceId, "arn:aws:iam::"+customer+":root")
	_, err = p.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(management.Bucket), Key: aws.String("k"), Body: strings.NewReader("x")})
	must(t, err)
	group := c.securityGroup(t, "vpce")
	endpoint := c.endpoint(t, *service.ServiceName, seeded.Subnets[0].ID)
	must(t, c.change(t, aws.String(seeded.LocalZoneID), change("CREATE", "CNAME", "api.demo.hypershift.local", "a.test")))

	kinds := func(account string) []string {
		left, err := emulator.Leftovers(t.Context(), account)
		must(t, err)
		var kinds []string
		for _, l := range left {
			kinds = append(kinds, strings.Fields(l)[0])
		}
		return kinds
	}
	if got, want := kinds(provider), []string{"endpoint-service", "load-balancer", "network-interface", "object"}; !slices.Equal(got, want) {
		t.Errorf("the provider: got %v, want %v", got, want)
	}
	if got, want := kinds(customer), []string{"network-interface", "record", "security-group", "vpc-endpoint"}; !slices.Equal(got, want) {
		t.Errorf("the customer: got %v, want %v", got, want)
	}

	must(t, c.change(t, aws.String(seeded.LocalZoneID), change("DELETE", "CNAME", "api.demo.hypershift.local", "a.test")))
	c.deleteEndpoint(t, *endpoint.VpcEndpointId)
	must(t, deleteGroup(t, c, group)())
	equal(t, "the customer at the end", len(kinds(customer)), 0)
}

func TestResetForgetsEverything(t *testing.T) {
	a := newAccount(t)
	t.Cleanup(func() { must(t, atOnce(context.WithoutCancel(t.Context()))) })
	must(t, emulator.Reset(t.Context()))
	vpcs, err := a.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []types.Filter{filter("is-default", "false")}})
	must(t, err)
	equal(t, "VPCs", len(vpcs.Vpcs), 0)
	calls, err := emulator.Calls(t.Context())
	must(t, err)
	equal(t, "calls", len(calls), 1)
}

func TestWhoConnectsFindsTheSameCloud(t *testing.T) {
	a := newAccount(t)
	other := awsemulator.Connect(emulator.URL, awsemulator.Options{})
	found, err := ec2.NewFromConfig(other.Config(a.id)).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{a.vpc}})
	must(t, err)
	equal(t, "VPCs", len(found.Vpcs), 1)
	if id := other.NewAccount(); id == a.id {
		t.Errorf("a new account is %s again", id)
	}
	other.Stop()
	_, err = emulator.Calls(t.Context())
	must(t, err) // it goes on
}

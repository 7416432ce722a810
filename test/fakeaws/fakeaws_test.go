package fakeaws_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const (
	region   = "us-east-1"
	provider = "111111111111"
	consumer = "222222222222"
)

// world is a service in the provider's account and a VPC in the consumer's.
type world struct {
	*fakeaws.Cloud
	clock              *clocktesting.FakeClock
	ho, cpo            *ec2.Client
	vpc, subnet        string
	arn, service, name string
}

func start(t testing.TB) *world {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	w := &world{Cloud: fakeaws.New(clock).FailOn(t), clock: clock}
	mine, theirs := w.Account(provider), w.Account(consumer)
	w.ho = ec2.NewFromConfig(mine.Config(region, "hypershift-operator"))
	w.cpo = ec2.NewFromConfig(theirs.Config(region, "control-plane-operator"))
	w.arn, _ = mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "router", Zones: []string{"us-east-1a"}})
	w.vpc = theirs.AddVPC(region, fakeaws.VPC{})
	w.subnet = theirs.AddSubnet(region, fakeaws.Subnet{VPC: w.vpc, Zone: theirs.ZoneName(region, mine.ZoneID("us-east-1a"))})
	made, err := w.ho.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: []string{w.arn}, AcceptanceRequired: aws.Bool(false)})
	must(t, err)
	w.service, w.name = *made.ServiceConfiguration.ServiceId, *made.ServiceConfiguration.ServiceName
	_, err = w.ho.ModifyVpcEndpointServicePermissions(t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{
		ServiceId: &w.service, AddAllowedPrincipals: []string{"arn:aws:iam::" + consumer + ":role/control-plane-operator"}})
	must(t, err)
	return w
}

func (w *world) endpoint(owner string) *ec2.CreateVpcEndpointInput {
	return &ec2.CreateVpcEndpointInput{
		VpcId: &w.vpc, ServiceName: &w.name, VpcEndpointType: types.VpcEndpointTypeInterface, SubnetIds: []string{w.subnet}, ClientToken: &owner,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVpcEndpoint, Tags: []types.Tag{{Key: aws.String("owner"), Value: &owner}}}},
	}
}

func byOwner(owner string) *ec2.DescribeVpcEndpointsInput {
	return &ec2.DescribeVpcEndpointsInput{Filters: []types.Filter{{Name: aws.String("tag:owner"), Values: []string{owner}}}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return fmt.Sprint(err)
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault fakeaws.Fault
		want  string // error code of CreateVpcEndpoint, as the caller sees it after retries
		calls int
		made  int
	}{
		"a throttled call is tried again":                {fakeaws.Fault{Kind: fakeaws.Throttled, Times: 2}, "", 3, 1},
		"throttling for ever is reported by its code":    {fakeaws.Fault{Kind: fakeaws.Throttled, Times: fakeaws.Forever}, "RequestLimitExceeded", 3, 0},
		"an internal error is tried again":               {fakeaws.Fault{Kind: fakeaws.ServerError}, "", 2, 1},
		"a page of HTML is tried again":                  {fakeaws.Fault{Kind: fakeaws.Garbled}, "", 2, 1},
		"a broken connection is tried again":             {fakeaws.Fault{Kind: fakeaws.Reset}, "", 2, 1},
		"a lost answer makes one endpoint, not two":      {fakeaws.Fault{Kind: fakeaws.AnswerLost}, "", 2, 1},
		"EC2's word for denied is UnauthorizedOperation": {fakeaws.Fault{Kind: fakeaws.Denied}, "UnauthorizedOperation", 1, 0},
		"EC2's word for expired is RequestExpired":       {fakeaws.Fault{Kind: fakeaws.Expired}, "RequestExpired", 1, 0},
		"a fault of another role does not strike":        {fakeaws.Fault{Kind: fakeaws.Denied, Role: "another"}, "", 1, 1},
		"the second call is not this one":                {fakeaws.Fault{Kind: fakeaws.Denied, Nth: 2}, "", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			c.fault.Operation = "CreateVpcEndpoint"
			w.Fault(c.fault)
			w.ForgetCalls()
			_, err := w.cpo.CreateVpcEndpoint(t.Context(), w.endpoint("a"))
			if got := code(err); (err != nil || c.want != "") && got != c.want {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if got := fakeaws.Count(w.Calls())["ec2:CreateVpcEndpoint"]; got != c.calls {
				t.Errorf("%d calls, want %d", got, c.calls)
			}
			found, err := w.cpo.DescribeVpcEndpoints(t.Context(), byOwner("a"))
			must(t, err)
			if len(found.VpcEndpoints) != c.made {
				t.Errorf("%d endpoints, want %d", len(found.VpcEndpoints), c.made)
			}
		})
	}
}

func TestEventualConsistency(t *testing.T) {
	w := start(t)
	w.SetDelays(fakeaws.Delays{Known: time.Second, Listed: 3 * time.Second})
	made, err := w.cpo.CreateVpcEndpoint(t.Context(), w.endpoint("a"))
	must(t, err)
	byID := &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{*made.VpcEndpoint.VpcEndpointId}}
	listed := func() int {
		out, err := w.cpo.DescribeVpcEndpoints(t.Context(), byOwner("a"))
		must(t, err)
		return len(out.VpcEndpoints)
	}
	if _, err := w.cpo.DescribeVpcEndpoints(t.Context(), byID); code(err) != "InvalidVpcEndpointId.NotFound" || listed() != 0 {
		t.Error("a new endpoint is known at once")
	}
	w.clock.Step(time.Second)
	if _, err := w.cpo.DescribeVpcEndpoints(t.Context(), byID); err != nil || listed() != 0 {
		t.Errorf("after a second the id is known and the list is not up to date: %v", err)
	}
	w.clock.Step(2 * time.Second)
	if listed() != 1 {
		t.Error("the list never is up to date")
	}
}

// complaints collects the fake's reports about its caller.
type complaints []string

func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

func TestMisuseIsLoud(t *testing.T) {
	w := start(t)
	for name, call := range map[string]func() error{
		"an operation the fake does not serve": func() error {
			_, err := w.cpo.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
			return err
		},
		"an input field the fake does not serve": func() error {
			in := w.endpoint("a")
			in.DnsOptions = &types.DnsOptionsSpecification{}
			_, err := w.cpo.CreateVpcEndpoint(t.Context(), in)
			return err
		},
		"a filter the fake does not serve": func() error {
			_, err := w.cpo.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []types.Filter{{Name: aws.String("cidr-block-association.state"), Values: []string{"x"}}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log complaints
			w.FailOn(&log)
			if err := call(); err == nil || len(log) != 1 {
				t.Errorf("error %v, complaints %v", err, log)
			}
		})
	}
}

func BenchmarkDescribe(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("one of %d endpoints by tag", n), func(b *testing.B) {
			w := start(b)
			for i := range n {
				_, err := w.cpo.CreateVpcEndpoint(b.Context(), w.endpoint(fmt.Sprint(i)))
				must(b, err)
			}
			w.ForgetCalls()
			in := byOwner("0")
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if out, err := w.cpo.DescribeVpcEndpoints(b.Context(), in); err != nil || len(out.VpcEndpoints) != 1 {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

package fakeaws_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"

	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// The following tests cannot be cases of the contract suite: AWS has no control for them, or they would take minutes there.

func TestLoadBalancersTakeTime(t *testing.T) {
	w := start(t)
	delays := fakeaws.UsualDelays
	delays.LoadBalancer = 2 * time.Minute
	w.SetDelays(delays)
	arn, dns := w.Account(provider).AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "slow", Zones: []string{"us-east-1a"}})
	if !strings.HasPrefix(dns, "slow-") {
		t.Errorf("a Service would show %q", dns)
	}
	create := func() error {
		_, err := w.ho.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{NetworkLoadBalancerArns: []string{arn}})
		return err
	}
	if err := create(); code(err) != "InvalidParameter" {
		t.Errorf("a service on a load balancer that is provisioning: %v", err)
	}
	w.clock.Step(2 * time.Minute)
	w.Account(provider).SetLoadBalancerState(region, "slow", "failed")
	if err := create(); code(err) != "InvalidParameter" {
		t.Errorf("a service on a load balancer that failed: %v", err)
	}
	w.Account(provider).SetLoadBalancerState(region, "slow", "")
	must(t, create())
}

func TestServicesTakeTime(t *testing.T) {
	w := start(t)
	w.SetDelays(fakeaws.Delays{ServicePending: time.Second, ServiceDeleting: time.Second})
	arn, _ := w.Account(provider).AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "another", Zones: []string{"us-east-1a"}})
	made, err := w.ho.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{NetworkLoadBalancerArns: []string{arn}})
	must(t, err)
	id := *made.ServiceConfiguration.ServiceId
	state := func() string {
		out, err := w.ho.DescribeVpcEndpointServiceConfigurations(t.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
		if err != nil {
			return code(err)
		}
		return string(out.ServiceConfigurations[0].ServiceState)
	}
	got := []string{state()}
	w.clock.Step(time.Second)
	got = append(got, state())
	_, err = w.ho.DeleteVpcEndpointServiceConfigurations(t.Context(), &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
	must(t, err)
	got = append(got, state())
	w.clock.Step(time.Second)
	got = append(got, state())
	if want := "Pending Available Deleting InvalidVpcEndpointServiceId.NotFound"; strings.Join(got, " ") != want {
		t.Errorf("the service was %v, want %s", got, want)
	}
}

func TestAnEndpointFails(t *testing.T) {
	w := start(t)
	made, err := w.cpo.CreateVpcEndpoint(t.Context(), w.endpoint("a"))
	must(t, err)
	w.Account(consumer).FailEndpoint(region, *made.VpcEndpoint.VpcEndpointId, "no addresses left")
	out, err := w.cpo.DescribeVpcEndpoints(t.Context(), byOwner("a"))
	must(t, err)
	e := out.VpcEndpoints[0]
	if e.State != "failed" || aws.ToString(e.FailureReason) != "no addresses left" {
		t.Errorf("the endpoint is %s: %s", e.State, aws.ToString(e.FailureReason))
	}
	if _, err := w.cpo.ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: e.VpcEndpointId}); code(err) != "InvalidState" {
		t.Errorf("modifying it: %v", err)
	}
}

func TestATokenIsForgottenAfterADay(t *testing.T) {
	w := start(t)
	first, err := w.cpo.CreateVpcEndpoint(t.Context(), w.endpoint("a"))
	must(t, err)
	w.clock.Step(25 * time.Hour)
	second, err := w.cpo.CreateVpcEndpoint(t.Context(), w.endpoint("a"))
	must(t, err)
	if *first.VpcEndpoint.VpcEndpointId == *second.VpcEndpoint.VpcEndpointId {
		t.Error("the token is remembered for ever")
	}
}

func TestOtherPeoplesThings(t *testing.T) {
	w := start(t)
	zone := w.Account(consumer).AddHostedZone(fakeaws.HostedZone{Name: "demo.hypershift.local", VPCs: []fakeaws.ZoneVPC{{Region: region, ID: w.vpc}}})
	dns := route53.NewFromConfig(w.Account(provider).Config(region, ""))
	if _, err := dns.GetHostedZone(t.Context(), &route53.GetHostedZoneInput{Id: &zone}); code(err) != "AccessDenied" {
		t.Errorf("another account's zone: %v", err)
	}
	if _, err := dns.ListHostedZonesByVPC(t.Context(), &route53.ListHostedZonesByVPCInput{VPCId: &w.vpc, VPCRegion: region}); code(err) != "AccessDenied" {
		t.Errorf("the zones of another account's VPC: %v", err)
	}
	w.Account(provider).AddBucket("eu-west-1", "far")
	objects := s3.NewFromConfig(w.Account(provider).Config(region, ""))
	if _, err := objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("far"), Key: aws.String("a")}); code(err) != "PermanentRedirect" {
		t.Errorf("a bucket in another region: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	w := start(t)
	w.Fault(fakeaws.Fault{Kind: fakeaws.Unreachable, Times: fakeaws.Forever, Role: "control-plane-operator"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := w.cpo.DescribeVpcEndpoints(ctx, byOwner("a"))
		done <- err
	}()
	// Others go on while the call hangs.
	_, err := w.ho.DescribeVpcEndpointServiceConfigurations(t.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	must(t, err)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

func TestAFaultHeals(t *testing.T) {
	w := start(t)
	heal := w.Fault(fakeaws.Fault{Kind: fakeaws.Denied, Service: fakeaws.EC2, Times: fakeaws.Forever})
	if _, err := w.cpo.DescribeVpcEndpoints(t.Context(), byOwner("a")); code(err) != "UnauthorizedOperation" {
		t.Errorf("denied: %v", err)
	}
	heal()
	_, err := w.cpo.DescribeVpcEndpoints(t.Context(), byOwner("a"))
	must(t, err)
	calls := fakeaws.By(w.Calls(), consumer, "control-plane-operator")
	if len(calls) != 2 || calls[0].Failed != "UnauthorizedOperation" || calls[1].Failed != "" || calls[0].IsWrite() {
		t.Errorf("the record is %+v", calls)
	}
}

func TestABodyIsSent(t *testing.T) {
	w := start(t)
	account := w.Account(provider)
	account.AddBucket(region, "documents")
	signed := aws.Config{Region: region, Credentials: account.Config(region, "").Credentials, APIOptions: []func(*middleware.Stack) error{w.Install}}
	_, err := s3.NewFromConfig(signed).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("documents"), Key: aws.String("a"), Body: strings.NewReader("content")})
	must(t, err)
	if body, _ := w.Object("documents", "a"); string(body) != "content" {
		t.Errorf("the bucket has %q", body)
	}
}

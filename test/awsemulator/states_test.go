package awsemulator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

const patience = 20 * time.Second

// natGateway creates a NAT gateway in a network with an internet gateway.
func (a *account) natGateway(t *testing.T, subnet string) string {
	t.Helper()
	gateway, err := a.ec2.CreateInternetGateway(t.Context(), &ec2.CreateInternetGatewayInput{})
	must(t, err)
	_, err = a.ec2.AttachInternetGateway(t.Context(), &ec2.AttachInternetGatewayInput{InternetGatewayId: gateway.InternetGateway.InternetGatewayId, VpcId: &a.vpc})
	must(t, err)
	address, err := a.ec2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	must(t, err)
	nat, err := a.ec2.CreateNatGateway(t.Context(), &ec2.CreateNatGatewayInput{SubnetId: &subnet, AllocationId: address.AllocationId})
	must(t, err)
	return *nat.NatGateway.NatGatewayId
}

// TestStatesPassTheWaitersOfTheModels creates and deletes resources that take time. The waiters of the SDK are generated from the
// service models: their acceptors list the states in which a resource is ready, deleted, or failed for good.
func TestStatesPassTheWaitersOfTheModels(t *testing.T) {
	a := newAccount(t)
	delays(t, 300*time.Millisecond)
	defer instantly(t)
	ctx := t.Context()
	subnets := []string{a.subnet(t, "10.0.0.0/24", 0), a.subnet(t, "10.0.1.0/24", 1)}
	must(t, ec2.NewVpcAvailableWaiter(a.ec2, func(o *ec2.VpcAvailableWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).
		Wait(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{a.vpc}}, patience))
	must(t, ec2.NewSubnetAvailableWaiter(a.ec2, func(o *ec2.SubnetAvailableWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).
		Wait(ctx, &ec2.DescribeSubnetsInput{SubnetIds: subnets}, patience))

	nat := a.natGateway(t, subnets[0])
	gateways := &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{nat}}
	available := ec2.NewNatGatewayAvailableWaiter(a.ec2, func(o *ec2.NatGatewayAvailableWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace })
	must(t, available.Wait(ctx, gateways, patience))
	must(t, emulator.Hold(ctx, nat, "failed"))
	if err := available.Wait(ctx, gateways, patience); err == nil || !strings.Contains(err.Error(), "Failure") {
		t.Errorf("waiting for a NAT gateway that has failed: %v", err)
	}
	must(t, emulator.Hold(ctx, nat, ""))
	_, err := a.ec2.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &nat})
	must(t, err)
	must(t, ec2.NewNatGatewayDeletedWaiter(a.ec2, func(o *ec2.NatGatewayDeletedWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).Wait(ctx, gateways, patience))

	made, err := a.ec2.RunInstances(ctx, launch(subnets[0], a.securityGroup(t, "node")))
	must(t, err)
	instances := &ec2.DescribeInstancesInput{InstanceIds: []string{*made.Instances[0].InstanceId}}
	must(t, ec2.NewInstanceRunningWaiter(a.ec2, func(o *ec2.InstanceRunningWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).Wait(ctx, instances, patience))
	_, err = a.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: instances.InstanceIds})
	must(t, err)
	must(t, ec2.NewInstanceTerminatedWaiter(a.ec2, func(o *ec2.InstanceTerminatedWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).Wait(ctx, instances, patience))

	balancer := a.nlb(t, "router", subnets...)
	balancers := &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{*balancer.LoadBalancerArn}}
	must(t, elbv2.NewLoadBalancerAvailableWaiter(a.elb, func(o *elbv2.LoadBalancerAvailableWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).Wait(ctx, balancers, patience))
	_, err = a.elb.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: balancer.LoadBalancerArn})
	must(t, err)
	must(t, elbv2.NewLoadBalancersDeletedWaiter(a.elb, func(o *elbv2.LoadBalancersDeletedWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).Wait(ctx, balancers, patience))

	zone, err := a.dns.CreateHostedZone(ctx, &route53.CreateHostedZoneInput{Name: aws.String("states.test"), CallerReference: aws.String(a.id)})
	must(t, err)
	must(t, route53.NewResourceRecordSetsChangedWaiter(a.dns, func(o *route53.ResourceRecordSetsChangedWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).
		Wait(ctx, &route53.GetChangeInput{Id: zone.ChangeInfo.Id}, patience))

	identities := iam.NewFromConfig(emulator.Config(a.id))
	_, err = emulator.Role(ctx, a.id, "states", awsemulator.TrustRole("arn:aws:iam::"+a.id+":root"))
	must(t, err)
	must(t, iam.NewRoleExistsWaiter(identities, func(o *iam.RoleExistsWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).Wait(ctx, &iam.GetRoleInput{RoleName: aws.String("states")}, patience))
	_, err = identities.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("states")})
	must(t, err)
	must(t, iam.NewInstanceProfileExistsWaiter(identities, func(o *iam.InstanceProfileExistsWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).
		Wait(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String("states")}, patience))

	bucket := aws.String("states-" + a.id)
	_, err = a.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: bucket})
	must(t, err)
	must(t, s3.NewBucketExistsWaiter(a.s3, func(o *s3.BucketExistsWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).Wait(ctx, &s3.HeadBucketInput{Bucket: bucket}, patience))
	_, err = a.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: bucket})
	must(t, err)
	must(t, s3.NewBucketNotExistsWaiter(a.s3, func(o *s3.BucketNotExistsWaiterOptions) { o.MinDelay, o.MaxDelay = pace, pace }).Wait(ctx, &s3.HeadBucketInput{Bucket: bucket}, patience))
}

const pace = 20 * time.Millisecond

// TestStatesAreThoseOfTheModels follows resources from their creation until they are gone. Each state is one of the
// enumeration in the service model.
func TestStatesAreThoseOfTheModels(t *testing.T) {
	p := newPair(t, true)
	a := p.customer
	delays(t, 200*time.Millisecond)
	defer instantly(t)
	ctx := t.Context()

	endpoint := a.endpoint(t, *p.service.ServiceName, p.subnets...)
	endpointState := func() string {
		found, err := a.ec2.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{*endpoint.VpcEndpointId}})
		if err != nil {
			return ""
		}
		return string(found.VpcEndpoints[0].State)
	}
	passes(t, "endpoint", lower(types.State("").Values()), endpointState, "pendingAcceptance")
	_, err := p.provider.ec2.AcceptVpcEndpointConnections(ctx, &ec2.AcceptVpcEndpointConnectionsInput{ServiceId: p.service.ServiceId, VpcEndpointIds: []string{*endpoint.VpcEndpointId}})
	must(t, err)
	passes(t, "endpoint", lower(types.State("").Values()), endpointState, "pending", "available")
	a.deleteEndpoint(t, *endpoint.VpcEndpointId)
	passes(t, "endpoint", lower(types.State("").Values()), endpointState, "deleting", "deleted", "")

	nat := a.natGateway(t, p.subnets[0])
	natState := func() string {
		found, err := a.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{nat}})
		if err != nil || len(found.NatGateways) == 0 {
			return ""
		}
		return string(found.NatGateways[0].State)
	}
	passes(t, "NAT gateway", lower(types.NatGatewayState("").Values()), natState, "pending", "available")
	_, err = a.ec2.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &nat})
	must(t, err)
	passes(t, "NAT gateway", lower(types.NatGatewayState("").Values()), natState, "deleting", "deleted")

	balancer := a.nlb(t, "states", p.subnets...)
	passes(t, "load balancer", lower(elbv2types.LoadBalancerStateEnum("").Values()), func() string {
		found, err := a.elb.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{*balancer.LoadBalancerArn}})
		must(t, err)
		return string(found.LoadBalancers[0].State.Code)
	}, "provisioning", "active")

	made, err := a.ec2.RunInstances(ctx, launch(p.subnets[0], a.securityGroup(t, "node")))
	must(t, err)
	instance := made.Instances[0].InstanceId
	instanceState := func() string { return string(a.describeInstance(t, *instance).State.Name) }
	passes(t, "instance", lower(types.InstanceStateName("").Values()), instanceState, "pending", "running")
	_, err = a.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{*instance}})
	must(t, err)
	passes(t, "instance", lower(types.InstanceStateName("").Values()), instanceState, "shutting-down", "terminated")

	zone, err := a.dns.CreateHostedZone(ctx, &route53.CreateHostedZoneInput{Name: aws.String("states.test"), CallerReference: aws.String(a.id)})
	must(t, err)
	passes(t, "change of records", lower(r53types.ChangeStatus("").Values()), func() string {
		change, err := a.dns.GetChange(ctx, &route53.GetChangeInput{Id: zone.ChangeInfo.Id})
		must(t, err)
		return string(change.ChangeInfo.Status)
	}, "PENDING", "INSYNC")
}

// passes reads a state until it is the last of the wanted ones; the states before it have to be seen, in their order.
// The empty state is a resource that is gone.
func passes(t *testing.T, what string, model []string, read func() string, want ...string) {
	t.Helper()
	var seen []string
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(pace) {
		state := read()
		// EC2 writes the states of endpoints in another way than its model.
		if state != "" && !slices.Contains(model, strings.ToLower(state)) {
			t.Fatalf("%s: the model has no state %q", what, state)
		}
		if len(seen) == 0 || seen[len(seen)-1] != state {
			seen = append(seen, state)
		}
		if state == want[len(want)-1] {
			break
		}
	}
	// A busy machine may miss a state that does not last, but the resource never has another one.
	if got := seen[len(seen)-1]; got != want[len(want)-1] {
		t.Errorf("%s: the last state is %q, want %q", what, got, want[len(want)-1])
	}
	for _, state := range seen {
		if !slices.Contains(want, state) {
			t.Errorf("%s: it was %q, want only %q", what, state, want)
		}
	}
}

// lower returns the values of an enumeration in lower case.
func lower[T ~string](values []T) []string {
	var all []string
	for _, v := range values {
		all = append(all, strings.ToLower(string(v)))
	}
	return all
}

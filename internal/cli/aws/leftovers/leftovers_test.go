package leftovers_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/leftovers"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

var emulator *awsemulator.Emulator

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if emulator, err = awsemulator.Start(context.Background(), awsemulator.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer emulator.Stop()
		// Tests list resources just after they have created them, which a user does not.
		if err := emulator.SetDelays(context.Background(), awsemulator.Delays{"visibility": 0}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return emulator.Run(m)
	}())
}

// account is one with resources of clusters.
type account struct {
	t      *testing.T
	config aws.Config
	ec2    *ec2.Client
	elb    *elbv2.Client
}

func newAccount(t *testing.T) *account {
	cfg := emulator.Config(emulator.Account(t))
	return &account{t: t, config: cfg, ec2: ec2.NewFromConfig(cfg), elb: elbv2.NewFromConfig(cfg)}
}

func made[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func owner(infraID string) awsgraph.Owner { return awsgraph.Owner{InfraID: infraID} }

func tags(kind types.ResourceType, infraID string) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: kind, Tags: []types.Tag{{Key: aws.String(owner(infraID).Tag()), Value: aws.String("owned")}}}}
}

// network creates a VPC with a subnet, and returns their ids.
func (a *account) network(infraID string) (vpc, subnet string) {
	a.t.Helper()
	v := made[*ec2.CreateVpcOutput](a.t)(a.ec2.CreateVpc(a.t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), TagSpecifications: tags(types.ResourceTypeVpc, infraID)}))
	s := made[*ec2.CreateSubnetOutput](a.t)(a.ec2.CreateSubnet(a.t.Context(), &ec2.CreateSubnetInput{
		VpcId: v.Vpc.VpcId, CidrBlock: aws.String("10.0.0.0/20"), AvailabilityZone: aws.String("us-east-1a"), TagSpecifications: tags(types.ResourceTypeSubnet, infraID),
	}))
	return *v.Vpc.VpcId, *s.Subnet.SubnetId
}

// balancer creates a load balancer, and returns its ARN. Without an infra ID it carries no tag.
func (a *account) balancer(name, subnet, infraID string) string {
	a.t.Helper()
	in := &elbv2.CreateLoadBalancerInput{
		Name: aws.String(name), Type: elbv2types.LoadBalancerTypeEnumNetwork, Scheme: elbv2types.LoadBalancerSchemeEnumInternal, Subnets: []string{subnet},
	}
	if infraID != "" {
		in.Tags = []elbv2types.Tag{{Key: aws.String(owner(infraID).Tag()), Value: aws.String("owned")}}
	}
	return *made[*elbv2.CreateLoadBalancerOutput](a.t)(a.elb.CreateLoadBalancer(a.t.Context(), in)).LoadBalancers[0].LoadBalancerArn
}

// service creates an endpoint service of a load balancer when that is active, and returns its id and its name.
func (a *account) service(balancer, infraID string) (id, name string) {
	a.t.Helper()
	active := elbv2.NewLoadBalancerAvailableWaiter(a.elb, func(o *elbv2.LoadBalancerAvailableWaiterOptions) { o.MinDelay = 50 * time.Millisecond })
	if err := active.Wait(a.t.Context(), &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{balancer}}, time.Minute); err != nil {
		a.t.Fatal(err)
	}
	s := made[*ec2.CreateVpcEndpointServiceConfigurationOutput](a.t)(a.ec2.CreateVpcEndpointServiceConfiguration(a.t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		NetworkLoadBalancerArns: []string{balancer}, AcceptanceRequired: aws.Bool(false), TagSpecifications: tags(types.ResourceTypeVpcEndpointService, infraID),
	})).ServiceConfiguration
	return *s.ServiceId, *s.ServiceName
}

func (a *account) find(infraID string, zones ...string) *leftovers.Finding {
	a.t.Helper()
	return made[*leftovers.Finding](a.t)(leftovers.Find(a.t.Context(), a.config, owner(infraID), zones...))
}

func TestOnlyTheResourcesOfTheClusterAreFoundTheMostExpensiveFirst(t *testing.T) {
	a := newAccount(t)
	vpc, subnet := a.network("demo-x")
	_, other := a.network("other-x")
	a.balancer("other", other, "other-x")
	mine := a.balancer("mine", subnet, "demo-x")
	a.balancer("foreign", subnet, "")
	volume := made[*ec2.CreateVolumeOutput](t)(a.ec2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-east-1a"), Size: aws.Int32(1), TagSpecifications: tags(types.ResourceTypeVolume, "demo-x")}))

	var got []string
	for _, r := range a.find("demo-x").Resources {
		kept := ""
		if r.Kept != "" {
			kept = " kept"
		}
		got = append(got, fmt.Sprintf("%s %s %s%s", r.Cost, r.Kind, r.ID, kept))
	}
	// A load balancer without the tag is listed, because it blocks the deletion of its subnet.
	want := []string{"hourly Load balancer foreign kept", "hourly Load balancer " + mine, "monthly Volume " + *volume.VolumeId + " kept", "none Subnet " + subnet, "none VPC " + vpc}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if none := a.find("none-x").Resources; len(none) > 0 {
		t.Errorf("found of a cluster that never existed: %v", none)
	}
}

func TestZoneWithoutItsNetworkIsFoundByItsName(t *testing.T) {
	a := newAccount(t)
	vpc, _ := a.network("demo-x")
	zone := made[*route53.CreateHostedZoneOutput](t)(route53.NewFromConfig(a.config).CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{
		Name: aws.String("demo.hypershift.local"), CallerReference: aws.String("hypershift/demo-x/token"), VPC: &route53types.VPC{VPCId: aws.String(vpc), VPCRegion: "us-east-1"},
	}))
	id := strings.TrimPrefix(*zone.HostedZone.Id, "/hostedzone/")
	has := func(f *leftovers.Finding) bool {
		return slices.ContainsFunc(f.Resources, func(r leftovers.Resource) bool { return r.ID == id && r.Kept == "" && r.Cost == leftovers.Stored })
	}
	if !has(a.find("demo-x")) {
		t.Error("the zone of the VPC is not found")
	}
	if !has(a.find("demo-x", "demo.hypershift.local")) || has(a.find("other-x", "demo.hypershift.local")) {
		t.Error("the zone is found for another cluster, or not for its own")
	}
}

// AWS deletes neither a service with connections nor a load balancer with a service.
func TestEndpointServiceIsDeletedWithItsConnectionsAndBeforeItsLoadBalancer(t *testing.T) {
	a := newAccount(t)
	_, subnet := a.network("demo-x")
	id, name := a.service(a.balancer("nlb", subnet, "demo-x"), "demo-x")
	vpc, clientSubnet := a.network("client-x")
	made[*ec2.CreateVpcEndpointOutput](t)(a.ec2.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{
		VpcId: aws.String(vpc), ServiceName: aws.String(name), VpcEndpointType: types.VpcEndpointTypeInterface, SubnetIds: []string{clientSubnet},
	}))
	found := a.find("demo-x")
	if !slices.ContainsFunc(found.Resources, func(r leftovers.Resource) bool { return r.Kind == "Endpoint service" && r.ID == id }) {
		t.Fatalf("found %v", found.Resources)
	}
	state := made[*rg.State](t)(rg.NewState(nil, func([]byte) error { return nil }))
	engine := rg.NewEngine(found.Graph, state, rg.Options{Classify: awsgraph.Classify, ConsistencyWindow: time.Second, Timeout: time.Minute})
	plan := made[*rg.Plan](t)(engine.PlanDestroy(t.Context()))
	if err := engine.Destroy(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if left := a.find("demo-x").Resources; len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if others := a.find("client-x").Resources; len(others) != 2 {
		t.Errorf("resources of the other cluster: %v", others)
	}
}

func TestClustersAreCountedByTheirTag(t *testing.T) {
	a := newAccount(t)
	a.network("demo-x")
	a.network("other-x")
	made[*ec2.CreateVpcOutput](t)(a.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16"), TagSpecifications: []types.TagSpecification{{
		ResourceType: types.ResourceTypeVpc, Tags: []types.Tag{{Key: aws.String(owner("shared-x").Tag()), Value: aws.String("shared")}},
	}}}))
	a.goes("gone-x")
	clusters := made[map[string]int](t)(leftovers.Clusters(t.Context(), a.config))
	if fmt.Sprint(clusters) != "map[demo-x:2 other-x:2]" || !slices.Equal(leftovers.Sorted(clusters), []string{"demo-x", "other-x"}) {
		t.Errorf("clusters %v", clusters)
	}
}

// goes creates a network with an instance, and deletes it. EC2 lists the instance, and its tags, for another hour.
func (a *account) goes(infraID string) {
	a.t.Helper()
	ctx := a.t.Context()
	vpc, subnet := a.network(infraID)
	run := made[*ec2.RunInstancesOutput](a.t)(a.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String(subnet),
		TagSpecifications: tags(types.ResourceTypeInstance, infraID),
	}))
	ids := []string{*run.Instances[0].InstanceId}
	made[*ec2.TerminateInstancesOutput](a.t)(a.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids}))
	terminated := ec2.NewInstanceTerminatedWaiter(a.ec2, func(o *ec2.InstanceTerminatedWaiterOptions) { o.MinDelay = 50 * time.Millisecond })
	if err := terminated.Wait(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids}, time.Minute); err != nil {
		a.t.Fatal(err)
	}
	made[*ec2.DeleteSubnetOutput](a.t)(a.ec2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: aws.String(subnet)}))
	made[*ec2.DeleteVpcOutput](a.t)(a.ec2.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: aws.String(vpc)}))
}

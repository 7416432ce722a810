package awsemulator_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func TestANetworkLoadBalancerLooksLikeOne(t *testing.T) {
	a := newAccount(t)
	subnet := a.subnet(t, "10.0.0.0/24", 0)
	slowly(t)
	made, err := a.elb.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: aws.String("private-router"), Type: elbv2types.LoadBalancerTypeEnumNetwork, Subnets: []string{subnet},
		Tags: []elbv2types.Tag{{Key: aws.String("owner"), Value: aws.String("me")}},
	})
	must(t, err)
	nlb := made.LoadBalancers[0]
	for what, c := range map[string]struct{ got, pattern string }{
		"host name": {*nlb.DNSName, `^private-router-[0-9a-f]{16}\.elb\.us-east-1\.amazonaws\.com$`},
		"ARN":       {*nlb.LoadBalancerArn, `^arn:aws:elasticloadbalancing:us-east-1:` + a.id + `:loadbalancer/net/private-router/[0-9a-f]{16}$`},
		"scheme":    {string(nlb.Scheme), `^internet-facing$`},
		"state":     {string(nlb.State.Code), `^provisioning$`},
	} {
		if !regexp.MustCompile(c.pattern).MatchString(c.got) {
			t.Errorf("%s: got %q, want %s", what, c.got, c.pattern)
		}
	}
	byName := func(names ...string) ([]elbv2types.LoadBalancer, error) {
		found, err := a.elb.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{Names: names})
		if err != nil {
			return nil, err
		}
		return found.LoadBalancers, nil
	}
	found, err := byName("private-router")
	must(t, err)
	equal(t, "state when looked at", found[0].State.Code, elbv2types.LoadBalancerStateEnumProvisioning)
	instantly(t)
	found, err = byName("private-router")
	must(t, err)
	equal(t, "state later", found[0].State.Code, elbv2types.LoadBalancerStateEnumActive)
	_, err = byName("private-router", "unknown")
	refused(t, err, "LoadBalancerNotFound")

	tags, err := a.elb.DescribeTags(t.Context(), &elbv2.DescribeTagsInput{ResourceArns: []string{*nlb.LoadBalancerArn}})
	must(t, err)
	equal(t, "tags", len(tags.TagDescriptions[0].Tags), 1)
	_, err = a.elb.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{Name: aws.String("private-router"), Type: "network", Subnets: []string{subnet}})
	refused(t, err, "DuplicateLoadBalancerName")

	_, err = a.ec2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: aws.String(subnet)})
	refused(t, err, "DependencyViolation")
	_, err = a.elb.DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: nlb.LoadBalancerArn})
	must(t, err)
	_, err = a.ec2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: aws.String(subnet)})
	refused(t, err, "")
}

func TestAnInstanceTakesItsTime(t *testing.T) {
	a := newAccount(t)
	subnet := a.subnet(t, "10.0.0.0/24", 0)
	group := a.securityGroup(t, "node")
	slowly(t)
	made, err := a.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: aws.String(subnet), Groups: []string{group}}},
	})
	must(t, err)
	id := *made.Instances[0].InstanceId
	describe := func(ids ...string) types.Instance {
		t.Helper()
		found, err := a.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: ids})
		must(t, err)
		equal(t, "reservations", len(found.Reservations), 1)
		return found.Reservations[0].Instances[0]
	}
	equal(t, "after run", describe(id).State.Name, types.InstanceStateNamePending)
	instantly(t)
	equal(t, "later, asked for twice", describe(id, id).State.Name, types.InstanceStateNameRunning)
	if groups := describe(id).SecurityGroups; len(groups) != 1 || *groups[0].GroupId != group {
		t.Errorf("security groups given with the interface: got %v", groups)
	}
	slowly(t)
	_, err = a.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{id}})
	must(t, err)
	equal(t, "after stop", describe(id).State.Name, types.InstanceStateNameStopping)
	_, err = a.ec2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{id}})
	refused(t, err, "IncorrectInstanceState")
	instantly(t)
	equal(t, "later", describe(id).State.Name, types.InstanceStateNameStopped)
	slowly(t)
	_, err = a.ec2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{id}})
	must(t, err)
	equal(t, "after start", describe(id).State.Name, types.InstanceStateNamePending)
	instantly(t)
	equal(t, "it runs again", describe(id).State.Name, types.InstanceStateNameRunning)
	_, err = a.ec2.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: []string{id}})
	must(t, err)
	equal(t, "after a reboot", describe(id).State.Name, types.InstanceStateNameRunning)

	slowly(t)
	terminated, err := a.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	must(t, err)
	equal(t, "previous state", terminated.TerminatingInstances[0].PreviousState.Name, types.InstanceStateNameRunning)
	equal(t, "after terminate", describe(id).State.Name, types.InstanceStateNameShuttingDown)
	repeat := func(when string, state types.InstanceStateName) {
		t.Helper()
		again, err := a.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
		must(t, err)
		equal(t, when, again.TerminatingInstances[0].PreviousState.Name, state)
	}
	repeat("terminated once more", types.InstanceStateNameShuttingDown)
	instantly(t)
	equal(t, "at the end", describe(id).State.Name, types.InstanceStateNameTerminated)
	repeat("terminated at the end", types.InstanceStateNameTerminated)

	_, err = a.ec2.DescribeInstanceTopology(t.Context(), &ec2.DescribeInstanceTopologyInput{InstanceIds: []string{id}})
	refused(t, err, "")
}

func TestEveryAccountFindsTheImages(t *testing.T) {
	a := newAccount(t)
	for id, architecture := range map[string]types.ArchitectureValues{
		awsemulator.ImageAMD64:            types.ArchitectureValuesX8664,
		awsemulator.ImageAMD64WithKubelet: types.ArchitectureValuesX8664,
		awsemulator.ImageAMD64Ubuntu:      types.ArchitectureValuesX8664,
		awsemulator.ImageARM64:            types.ArchitectureValuesArm64,
	} {
		found, err := a.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{id}})
		must(t, err)
		equal(t, "architecture of "+id, found.Images[0].Architecture, architecture)
	}
}

func TestZoneNamesMeanDifferentZonesInDifferentAccounts(t *testing.T) {
	a, b := newAccount(t), newAccount(t)
	id := func(a *account, zone string) string {
		found, err := a.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{zone}})
		must(t, err)
		return *found.AvailabilityZones[0].ZoneId
	}
	same := true
	for _, zone := range a.zones {
		same = same && id(a, zone) == id(b, zone)
	}
	if same {
		t.Errorf("accounts %s and %s agree on all zones", a.id, b.id)
	}

	must(t, emulator.SetZoneIDs(t.Context(), a.id, map[string]string{"us-east-1a": "use1-az5"}))
	equal(t, "the chosen id", id(a, "us-east-1a"), "use1-az5")

	subnet, err := b.ec2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: aws.String(b.vpc), CidrBlock: aws.String("10.0.7.0/24"), AvailabilityZoneId: aws.String("use1-az3")})
	must(t, err)
	equal(t, "the zone of a subnet made by zone id", *subnet.Subnet.AvailabilityZone, b.zones[2])
	equal(t, "its zone id", *subnet.Subnet.AvailabilityZoneId, "use1-az3")
}

// A zone offers the same instance types in all accounts, whatever its name there.
func TestInstanceTypesOfAZone(t *testing.T) {
	for _, a := range []*account{newAccount(t), newAccount(t)} {
		byName := map[string]string{}
		zones, err := a.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{})
		must(t, err)
		for _, z := range zones.AvailabilityZones {
			byName[*z.ZoneName] = *z.ZoneId
		}
		out, err := a.ec2.DescribeInstanceTypeOfferings(t.Context(), &ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{filter("instance-type", "m5.large")},
		})
		must(t, err)
		var ids []string
		for _, offering := range out.InstanceTypeOfferings {
			ids = append(ids, byName[*offering.Location])
		}
		slices.Sort(ids)
		equal(t, "the zones with m5.large", strings.Join(ids, " "), "use1-az1 use1-az2 use1-az4 use1-az5 use1-az6")
	}
}

func TestLookUpsByTagFindTheirOwn(t *testing.T) {
	a := newAccount(t)
	subnet := a.subnet(t, "10.0.0.0/24", 0)
	address, err := a.ec2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	must(t, err)
	slowly(t)
	nat, err := a.ec2.CreateNatGateway(t.Context(), &ec2.CreateNatGatewayInput{SubnetId: aws.String(subnet), AllocationId: address.AllocationId})
	must(t, err)
	equal(t, "NAT gateway after create", nat.NatGateway.State, types.NatGatewayStatePending)
	found, err := a.ec2.DescribeNatGateways(t.Context(), &ec2.DescribeNatGatewaysInput{Filter: []types.Filter{filter("tag:owner", "another")}})
	must(t, err)
	equal(t, "NAT gateways by a tag that none has", len(found.NatGateways), 0)
	_, err = a.ec2.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: address.AllocationId})
	refused(t, err, "InvalidIPAddress.InUse")

	_, err = a.ec2.CreateDhcpOptions(t.Context(), &ec2.CreateDhcpOptionsInput{
		DhcpConfigurations: []types.NewDhcpConfiguration{{Key: aws.String("domain-name"), Values: []string{"x.test"}}},
		TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeDhcpOptions, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("me")}}}},
	})
	must(t, err)
	options, err := a.ec2.DescribeDhcpOptions(t.Context(), &ec2.DescribeDhcpOptionsInput{Filters: []types.Filter{filter("tag:owner", "me")}})
	must(t, err)
	equal(t, "DHCP options by tag", len(options.DhcpOptions), 1)
}

func TestARuleForAProtocolWithoutPorts(t *testing.T) {
	a := newAccount(t)
	group := a.securityGroup(t, "node")
	rule := []types.IpPermission{{IpProtocol: aws.String("50"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &group}}}}
	_, err := a.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: rule})
	must(t, err)
	found, err := a.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	must(t, err)
	got := found.SecurityGroups[0].IpPermissions[0]
	if *got.IpProtocol != "50" || got.FromPort != nil || got.ToPort != nil {
		t.Errorf("got %s %v-%v", *got.IpProtocol, got.FromPort, got.ToPort)
	}
	_, err = a.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: rule})
	refused(t, err, "")
}

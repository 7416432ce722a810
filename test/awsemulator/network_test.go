package awsemulator_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// ok is for calls that prepare the test.
func ok[T any](made T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return made
	}
}

func TestNetworkOfAllAccounts(t *testing.T) {
	instantly(t)
	customer, err := emulator.SeedCustomer(t.Context(), awsemulator.CustomerOptions{
		Account: emulator.Account(t), Name: "net", InfraID: "net-1", Issuer: "https://issuer.example.test", Internet: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := ec2.NewFromConfig(emulator.Config(customer.Account))
	group := aws.ToString(ok(client.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("web"), VpcId: &customer.VPC}))(t).GroupId)
	ok(client.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{
		{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(6443), ToPort: aws.Int32(6444), IpRanges: []types.IpRange{{CidrIp: aws.String("10.1.0.0/16")}}},
		{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &group}}},
	}}))(t)
	instance := ok(client.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: &customer.Subnets[1].ID, SecurityGroupIds: []string{group},
		MetadataOptions: &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(2)},
	}))(t).Instances[0]

	n := ok(emulator.Network(t.Context()))(t)
	at := slices.IndexFunc(n.VPCs, func(v awsemulator.VPC) bool { return v.ID == customer.VPC })
	if at < 0 || n.VPCs[at].Account != customer.Account || !slices.Equal(n.VPCs[at].CIDRs, []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}) || !n.VPCs[at].DNS {
		t.Fatalf("the VPC is %+v", n.VPCs)
	}
	ways := map[awsemulator.Internet]int{}
	for _, s := range n.Subnets {
		if s.VPC == customer.VPC {
			ways[s.Internet]++
		}
	}
	equal(t, "subnets with a route to the internet gateway", ways[awsemulator.Gateway], 1)
	equal(t, "subnets with a route to the NAT gateway", ways[awsemulator.NAT], len(customer.Subnets))

	at = slices.IndexFunc(n.Interfaces, func(i awsemulator.NetworkInterface) bool { return i.Instance == aws.ToString(instance.InstanceId) })
	if at < 0 {
		t.Fatalf("the instance has no interface: %+v", n.Interfaces)
	}
	i := n.Interfaces[at]
	if i.Address.String() != aws.ToString(instance.PrivateIpAddress) || !slices.Equal(i.Groups, []string{group}) || i.Subnet != customer.Subnets[1].ID || i.HopLimit != 2 || !i.TokensRequired || !i.Metadata || i.Public {
		t.Errorf("the interface is %+v", i)
	}
	at = slices.IndexFunc(n.Groups, func(g awsemulator.SecurityGroup) bool { return g.ID == group })
	if at < 0 {
		t.Fatal("the group is missing")
	}
	want := []awsemulator.SecurityGroupRule{{Protocol: "tcp", From: 6443, To: 6444, CIDR: "10.1.0.0/16"}, {Protocol: "-1", From: -1, To: -1, Group: group}}
	if got := n.Groups[at].Ingress; !slices.Equal(got, want) {
		t.Errorf("ingress is %+v, want %+v", got, want)
	}
	if got := n.Groups[at].Egress; !slices.Equal(got, []awsemulator.SecurityGroupRule{{Protocol: "-1", From: -1, To: -1, CIDR: "0.0.0.0/0"}}) {
		t.Errorf("egress is %+v", got)
	}
	zone := slices.IndexFunc(n.Zones, func(z awsemulator.Zone) bool { return z.Name == "net.hypershift.local." })
	if zone < 0 || !n.Zones[zone].Private || !slices.Equal(n.Zones[zone].VPCs, []string{customer.VPC}) {
		t.Errorf("the zone is %+v", n.Zones)
	}

	ok(client.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*instance.InstanceId}}))(t)
	n = ok(emulator.Network(t.Context()))(t)
	if slices.ContainsFunc(n.Interfaces, func(i awsemulator.NetworkInterface) bool { return i.Instance == *instance.InstanceId }) {
		t.Error("the interface of a terminated instance is left")
	}
}

func TestInterfaceOfANATGatewayBelongsToAWS(t *testing.T) {
	customer, err := emulator.SeedCustomer(t.Context(), awsemulator.CustomerOptions{
		Account: emulator.Account(t), Name: "nat", InfraID: "nat-1", Issuer: "https://issuer.example.test", Internet: true,
	})
	must(t, err)
	client := ec2.NewFromConfig(emulator.Config(customer.Account))
	gateways := ok(client.DescribeNatGateways(t.Context(), &ec2.DescribeNatGatewaysInput{}))(t).NatGateways
	equal(t, "gateways", len(gateways), 1)
	interfaces := ok(client.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{
		Filters: []types.Filter{filter("subnet-id", *gateways[0].SubnetId)},
	}))(t).NetworkInterfaces
	equal(t, "interfaces", len(interfaces), 1)
	equal(t, "type", interfaces[0].InterfaceType, "nat_gateway")
	equal(t, "managed by AWS", aws.ToBool(interfaces[0].RequesterManaged), true)
}

func TestAddressIsNotGivenTwice(t *testing.T) {
	customer, err := emulator.SeedCustomer(t.Context(), awsemulator.CustomerOptions{
		Account: emulator.Account(t), Name: "address", InfraID: "address-1", Issuer: "https://issuer.example.test",
	})
	must(t, err)
	client := ec2.NewFromConfig(emulator.Config(customer.Account))
	address := netip.MustParsePrefix(customer.Subnets[0].CIDR).Addr().As4()
	address[3] += 10
	in := &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: &customer.Subnets[0].ID, PrivateIpAddress: aws.String(netip.AddrFrom4(address).String()),
		}},
	}
	first := ok(client.RunInstances(t.Context(), in))(t).Instances[0]
	equal(t, "address", *first.PrivateIpAddress, netip.AddrFrom4(address).String())
	in.ClientToken = nil // the SDK has set one
	_, err = client.RunInstances(t.Context(), in)
	refused(t, err, "InvalidIPAddress.InUse")
}

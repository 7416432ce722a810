package awsemulator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// seeder makes the resources of one cluster in one account.
type seeder struct {
	ec2 *ec2.Client
	iam *iam.Client
	s3  *s3.Client
	// raise requests an increase of a quota: a test may have more clusters in an account than a customer has in a new one.
	raise     func(ctx context.Context, service, code string) error
	region    string
	clusterID string
}

func (e *Emulator) seeder(account, clusterID string) *seeder {
	config := e.Config(account)
	config.RetryMaxAttempts = 10 // EC2 takes few requests for instances at once
	return &seeder{
		ec2: ec2.NewFromConfig(config),
		iam: iam.NewFromConfig(config),
		s3:  s3.NewFromConfig(config),
		raise: func(ctx context.Context, service, code string) error {
			return e.RaiseQuota(ctx, account, service, code, 1000)
		},
		region:    e.region,
		clusterID: clusterID,
	}
}

func isCode(err error, code string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == code
}

type zone struct{ name, id string }

// zones finds the account's names for zone ids. The default ids are the first by id, not
// by name, so that two accounts with the same number of zones are in the same places.
func (s *seeder) zones(ctx context.Context, ids []string, count int) ([]zone, error) {
	described, err := s.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, fmt.Errorf("describing zones: %w", err)
	}
	var all []zone
	for _, z := range described.AvailabilityZones {
		all = append(all, zone{name: aws.ToString(z.ZoneName), id: aws.ToString(z.ZoneId)})
	}
	slices.SortFunc(all, func(a, b zone) int { return strings.Compare(a.id, b.id) })
	if len(ids) == 0 {
		served, err := CurrentZones(ctx, s.ec2)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(z zone) bool { return !slices.Contains(served, z.id) })
		return all[:min(count, len(all))], nil
	}
	var chosen []zone
	for _, id := range ids {
		i := slices.IndexFunc(all, func(z zone) bool { return z.id == id })
		if i < 0 {
			return nil, fmt.Errorf("region %s has no zone with the id %s", s.region, id)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// CurrentZones returns the ids of the zones of the region that offer current instance types, in alphabetical order. use1-az3 does not: EKS
// does not take it either.
func CurrentZones(ctx context.Context, c *ec2.Client) ([]string, error) {
	out, err := c.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: ec2types.LocationTypeAvailabilityZoneId, Filters: []ec2types.Filter{{Name: aws.String("instance-type"), Values: []string{"m5.large"}}},
	})
	if err != nil {
		return nil, fmt.Errorf("describing the zones with current instance types: %w", err)
	}
	var ids []string
	for _, offering := range out.InstanceTypeOfferings {
		ids = append(ids, aws.ToString(offering.Location))
	}
	slices.Sort(ids)
	return ids, nil
}

// vpc makes a VPC with the attributes that the controllers read: DNS names, and DHCP options.
func (s *seeder) vpc(ctx context.Context, cidr string) (string, error) {
	in := &ec2.CreateVpcInput{
		CidrBlock:         aws.String(cidr),
		TagSpecifications: s.tags(ec2types.ResourceTypeVpc, s.clusterID+"-vpc"),
	}
	made, err := s.ec2.CreateVpc(ctx, in)
	if isCode(err, "VpcLimitExceeded") {
		if err := s.raise(ctx, "vpc", "L-F678F1CE"); err != nil {
			return "", err
		}
		made, err = s.ec2.CreateVpc(ctx, in)
	}
	if err != nil {
		return "", fmt.Errorf("making a VPC: %w", err)
	}
	id := made.Vpc.VpcId
	on := &ec2types.AttributeBooleanValue{Value: aws.Bool(true)}
	_, err = s.ec2.ModifyVpcAttribute(ctx, &ec2.ModifyVpcAttributeInput{VpcId: id, EnableDnsHostnames: on})
	if err != nil {
		return "", fmt.Errorf("switching DNS host names on in %s: %w", *id, err)
	}
	options, err := s.ec2.CreateDhcpOptions(ctx, &ec2.CreateDhcpOptionsInput{
		DhcpConfigurations: []ec2types.NewDhcpConfiguration{
			{Key: aws.String("domain-name"), Values: []string{"ec2.internal"}},
			{Key: aws.String("domain-name-servers"), Values: []string{"AmazonProvidedDNS"}},
		},
		TagSpecifications: s.tags(ec2types.ResourceTypeDhcpOptions, s.clusterID+"-dhcp"),
	})
	if err != nil {
		return "", fmt.Errorf("making DHCP options: %w", err)
	}
	_, err = s.ec2.AssociateDhcpOptions(ctx, &ec2.AssociateDhcpOptionsInput{DhcpOptionsId: options.DhcpOptions.DhcpOptionsId, VpcId: id})
	if err != nil {
		return "", fmt.Errorf("giving DHCP options to %s: %w", *id, err)
	}
	return aws.ToString(id), nil
}

// subnet makes a subnet and gives the range for the next one.
func (s *seeder) subnet(ctx context.Context, vpc string, z zone, cidr netip.Prefix, role string) (Subnet, netip.Prefix, error) {
	tags := s.tags(ec2types.ResourceTypeSubnet, s.clusterID+"-"+cmp.Or(strings.TrimPrefix(role, "kubernetes.io/role/"), "private")+"-"+z.name)
	if role != "" {
		tags[0].Tags = append(tags[0].Tags, ec2types.Tag{Key: aws.String(role), Value: aws.String("1")})
	}
	made, err := s.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
		VpcId:             aws.String(vpc),
		CidrBlock:         aws.String(cidr.String()),
		AvailabilityZone:  aws.String(z.name),
		TagSpecifications: tags,
	})
	if err != nil {
		return Subnet{}, cidr, fmt.Errorf("making a subnet in %s: %w", z.name, err)
	}
	return Subnet{ID: aws.ToString(made.Subnet.SubnetId), CIDR: cidr.String(), Zone: z.name, ZoneID: z.id}, following(cidr), nil
}

// following returns the next network of the same size after an IPv4 network.
func following(cidr netip.Prefix) netip.Prefix {
	octets := cidr.Addr().As4()
	start := uint32(octets[0])<<24 | uint32(octets[1])<<16 | uint32(octets[2])<<8 | uint32(octets[3])
	start += 1 << (32 - cidr.Bits())
	address := netip.AddrFrom4([4]byte{byte(start >> 24), byte(start >> 16), byte(start >> 8), byte(start)})
	return netip.PrefixFrom(address, cidr.Bits())
}

// securityGroup makes the group of nodes: they accept everything from each other, and TCP from the control plane if its
// address is given.
func (s *seeder) securityGroup(ctx context.Context, vpc string, controlPlane netip.Addr) (string, error) {
	made, err := s.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName:         aws.String(s.clusterID + "-node"),
		Description:       aws.String("nodes of " + s.clusterID),
		VpcId:             aws.String(vpc),
		TagSpecifications: s.tags(ec2types.ResourceTypeSecurityGroup, s.clusterID+"-node"),
	})
	if err != nil {
		return "", fmt.Errorf("making a security group: %w", err)
	}
	rules := []ec2types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: made.GroupId}}}}
	if controlPlane.IsValid() {
		rules = append(rules, ec2types.IpPermission{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(0), ToPort: aws.Int32(65535),
			IpRanges: []ec2types.IpRange{{CidrIp: aws.String(netip.PrefixFrom(controlPlane, controlPlane.BitLen()).String())}},
		})
	}
	_, err = s.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: made.GroupId, IpPermissions: rules})
	if err != nil {
		return "", fmt.Errorf("adding rules to security group %s: %w", aws.ToString(made.GroupId), err)
	}
	return aws.ToString(made.GroupId), nil
}

func (s *seeder) instance(ctx context.Context, m *Management, o InstanceOptions) (Instance, error) {
	in := slices.IndexFunc(m.Private, func(subnet Subnet) bool { return subnet.Zone == o.Zone })
	if in < 0 {
		return Instance{}, fmt.Errorf("account %s has no subnet in zone %q", m.Account, o.Zone)
	}
	input := &ec2.RunInstancesInput{
		ImageId:           aws.String(ImageAMD64),
		InstanceType:      ec2types.InstanceType(cmp.Or(o.Type, "m5.large")),
		MinCount:          aws.Int32(1),
		MaxCount:          aws.Int32(1),
		SubnetId:          aws.String(m.Private[in].ID),
		SecurityGroupIds:  []string{m.SecurityGroup},
		TagSpecifications: s.tags(ec2types.ResourceTypeInstance, cmp.Or(o.Name, s.clusterID+"-node-"+o.Zone)),
		// Pods reach the metadata service, as is common, so that only a NetworkPolicy keeps them from the role of the node.
		MetadataOptions: &ec2types.InstanceMetadataOptionsRequest{HttpTokens: ec2types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(2)},
	}
	if o.Address != "" {
		input.PrivateIpAddress = aws.String(o.Address)
	}
	made, err := s.ec2.RunInstances(ctx, input)
	if err != nil {
		return Instance{}, fmt.Errorf("running an instance in %s: %w", o.Zone, err)
	}
	i := made.Instances[0]
	return Instance{
		ID:             aws.ToString(i.InstanceId),
		ProviderID:     "aws:///" + o.Zone + "/" + aws.ToString(i.InstanceId),
		PrivateIP:      aws.ToString(i.PrivateIpAddress),
		PrivateDNSName: aws.ToString(i.PrivateDnsName),
		Zone:           o.Zone,
	}, nil
}

func (s *seeder) publicBucket(ctx context.Context, bucket string) error {
	policy, err := json.Marshal(map[string]any{
		"Version": "2012-10-17",
		"Statement": []any{map[string]any{
			"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::" + bucket + "/*",
		}},
	})
	if err != nil {
		return err
	}
	_, createErr := s.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	_, blockErr := s.s3.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: aws.String(bucket)})
	// S3 knows seconds later that public policies are not blocked any more.
	var policyErr error
	waitErr := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, policyErr = s.s3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: aws.String(bucket), Policy: aws.String(string(policy))})
		return policyErr == nil, nil
	})
	if err := errors.Join(createErr, blockErr, waitErr); err != nil {
		return fmt.Errorf("making public bucket %s: %w", bucket, errors.Join(err, policyErr))
	}
	return nil
}

func (s *seeder) oidcProvider(ctx context.Context, issuer string) (string, error) {
	made, err := s.iam.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{
		Url:            aws.String(issuer),
		ClientIDList:   []string{names.WebIdentityAudience},
		ThumbprintList: []string{strings.Repeat("a", 40)}, // AWS checks S3 by its own trust store
	})
	if err != nil {
		return "", fmt.Errorf("making an OIDC provider for %s: %w", issuer, err)
	}
	return aws.ToString(made.OpenIDConnectProviderArn), nil
}

func (s *seeder) tags(kind ec2types.ResourceType, name string) []ec2types.TagSpecification {
	return []ec2types.TagSpecification{{
		ResourceType: kind,
		Tags: []ec2types.Tag{
			{Key: aws.String("Name"), Value: aws.String(name)},
			{Key: aws.String(names.ClusterTag(s.clusterID)), Value: aws.String("owned")},
		},
	}}
}

// nat gives private subnets a way to the internet: a NAT gateway in a public subnet.
func (s *seeder) nat(ctx context.Context, vpc string, public Subnet, private []Subnet) error {
	address, err := s.ec2.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: ec2types.DomainTypeVpc})
	if isCode(err, "AddressLimitExceeded") {
		if err := s.raise(ctx, "ec2", "L-0263D0A3"); err != nil {
			return err
		}
		address, err = s.ec2.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: ec2types.DomainTypeVpc})
	}
	if err != nil {
		return fmt.Errorf("allocating an address: %w", err)
	}
	gateway, err := s.ec2.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: &public.ID, AllocationId: address.AllocationId})
	if err != nil {
		return fmt.Errorf("making a NAT gateway: %w", err)
	}
	table, err := s.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &vpc})
	if err != nil {
		return fmt.Errorf("making a route table: %w", err)
	}
	_, err = s.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{
		RouteTableId: table.RouteTable.RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0"), NatGatewayId: gateway.NatGateway.NatGatewayId,
	})
	if err != nil {
		return fmt.Errorf("making a route to NAT gateway %s: %w", aws.ToString(gateway.NatGateway.NatGatewayId), err)
	}
	for _, subnet := range private {
		if _, err := s.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table.RouteTable.RouteTableId, SubnetId: &subnet.ID}); err != nil {
			return fmt.Errorf("connecting subnet %s to the internet: %w", subnet.ID, err)
		}
	}
	return nil
}

// internet makes subnets public in the eyes of the cloud-controller-manager: it believes routes, not tags.
func (s *seeder) internet(ctx context.Context, vpc string, subnets []Subnet) error {
	gateway, err := s.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})
	if err != nil {
		return fmt.Errorf("making an internet gateway: %w", err)
	}
	id := gateway.InternetGateway.InternetGatewayId
	if _, err := s.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: id, VpcId: &vpc}); err != nil {
		return fmt.Errorf("attaching internet gateway %s: %w", *id, err)
	}
	table, err := s.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &vpc})
	if err != nil {
		return fmt.Errorf("making a route table: %w", err)
	}
	_, err = s.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{
		RouteTableId: table.RouteTable.RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: id,
	})
	if err != nil {
		return fmt.Errorf("making a route to internet gateway %s: %w", *id, err)
	}
	for _, subnet := range subnets {
		if _, err := s.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table.RouteTable.RouteTableId, SubnetId: &subnet.ID}); err != nil {
			return fmt.Errorf("opening subnet %s to the internet: %w", subnet.ID, err)
		}
	}
	return nil
}

package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
)

// resources is everything in an account, without ids and fields that differ from run to run: a resource by its kind and name.
type resources map[string]any

// volatile are fields that differ between two accounts with the same resources.
var volatile = []string{
	"ResultMetadata", "CreateTime", "CreateDate", "CreationTimestamp", "CallerReference", "PublicIp", "PrivateIp", "NetworkInterfaceId", "RoleId",
	"InstanceProfileId", "RoleLastUsed", "AssociationId", "SubnetArn", "OwnerId", "AvailabilityZoneId", "LaunchTime", "ClientToken", "AttachTime",
	"PublicDnsName", "PublicIpAddress", "MacAddress", "KmsKeyId",
}

// everything describes the account of the user, without the default VPC.
func (u *user) everything() resources {
	u.t.Helper()
	ctx, cfg := u.t.Context(), emulator.Config(u.account)
	net, dns, roles := ec2.NewFromConfig(cfg), route53.NewFromConfig(cfg), awsiam.NewFromConfig(cfg)
	labels := map[string]string{u.account: "ACCOUNT", u.publicZone(): "PUBLIC"}
	found := map[string]any{}
	add := func(kind, id, name string, value any) {
		label := kind + " " + name
		for found[label] != nil {
			label += "'"
		}
		labels[id] = label
		found[label] = value
	}
	nameOf := func(tags []ec2types.Tag) string {
		for _, t := range tags {
			if aws.ToString(t.Key) == "Name" {
				return aws.ToString(t.Value)
			}
		}
		return ""
	}

	vpcs, err := net.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: []ec2types.Filter{{Name: aws.String("is-default"), Values: []string{"false"}}}})
	u.try(err)
	var ids []string
	for _, v := range vpcs.Vpcs {
		ids = append(ids, *v.VpcId)
		support, err := net.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: v.VpcId, Attribute: ec2types.VpcAttributeNameEnableDnsSupport})
		u.try(err)
		names, err := net.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: v.VpcId, Attribute: ec2types.VpcAttributeNameEnableDnsHostnames})
		u.try(err)
		add("VPC", *v.VpcId, nameOf(v.Tags), []any{v, *support.EnableDnsSupport.Value, *names.EnableDnsHostnames.Value})
		zones, err := dns.ListHostedZonesByVPC(ctx, &route53.ListHostedZonesByVPCInput{VPCId: v.VpcId, VPCRegion: route53types.VPCRegion(cfg.Region)})
		u.try(err)
		for _, z := range zones.HostedZoneSummaries {
			zone, err := dns.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: z.HostedZoneId})
			u.try(err)
			records, err := dns.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: z.HostedZoneId})
			u.try(err)
			tags, err := dns.ListTagsForResource(ctx, &route53.ListTagsForResourceInput{ResourceId: z.HostedZoneId, ResourceType: route53types.TagResourceTypeHostedzone})
			u.try(err)
			add("zone", *z.HostedZoneId, *z.Name, []any{zone, records.ResourceRecordSets, tags.ResourceTagSet.Tags})
		}
	}
	inVPC := []ec2types.Filter{{Name: aws.String("vpc-id"), Values: append(ids, "none")}}
	subnets, err := net.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: inVPC})
	u.try(err)
	for _, s := range subnets.Subnets {
		add("subnet", *s.SubnetId, nameOf(s.Tags), s)
	}
	tables, err := net.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: inVPC})
	u.try(err)
	for _, t := range tables.RouteTables {
		for i := range t.Associations {
			t.Associations[i].RouteTableAssociationId = nil
		}
		add("route table", *t.RouteTableId, nameOf(t.Tags), t)
	}
	groups, err := net.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: inVPC})
	u.try(err)
	for _, g := range groups.SecurityGroups {
		g.SecurityGroupArn = nil
		add("security group", *g.GroupId, *g.GroupName, g)
	}
	gateways, err := net.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{})
	u.try(err)
	for _, g := range gateways.InternetGateways {
		if name := nameOf(g.Tags); name != "" {
			add("internet gateway", *g.InternetGatewayId, name, g)
		}
	}
	options, err := net.DescribeDhcpOptions(ctx, &ec2.DescribeDhcpOptionsInput{})
	u.try(err)
	for _, d := range options.DhcpOptions {
		add("DHCP options", *d.DhcpOptionsId, "", d)
	}
	addresses, err := net.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
	u.try(err)
	for _, a := range addresses.Addresses {
		add("address", *a.AllocationId, nameOf(a.Tags), a)
	}
	nats, err := net.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{})
	u.try(err)
	for _, n := range nats.NatGateways {
		if n.ConnectivityType == "" {
			n.ConnectivityType = ec2types.ConnectivityTypePublic // the default of AWS, which the emulator leaves out
		}
		if n.State == ec2types.NatGatewayStatePending {
			n.State = ec2types.NatGatewayStateAvailable // AWS is not done yet
		}
		add("NAT gateway", *n.NatGatewayId, nameOf(n.Tags), n)
	}
	reservations, err := net.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: inVPC})
	u.try(err)
	for _, r := range reservations.Reservations {
		for _, i := range r.Instances {
			if i.State.Name == ec2types.InstanceStateNamePending {
				i.State = &ec2types.InstanceState{Name: ec2types.InstanceStateNameRunning, Code: aws.Int32(16)} // AWS is not done yet
			}
			i.HibernationOptions = &ec2types.HibernationOptions{Configured: aws.Bool(i.HibernationOptions != nil && aws.ToBool(i.HibernationOptions.Configured))}
			data, err := net.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: i.InstanceId, Attribute: ec2types.InstanceAttributeNameUserData})
			u.try(err)
			add("instance", *i.InstanceId, nameOf(i.Tags), []any{i, i.PublicIpAddress != nil, data.UserData})
			volumes, err := net.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{{Name: aws.String("attachment.instance-id"), Values: []string{*i.InstanceId}}}})
			u.try(err)
			for _, v := range volumes.Volumes {
				add("volume", *v.VolumeId, nameOf(v.Tags), v)
			}
			for _, attached := range i.NetworkInterfaces {
				found, err := net.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{*attached.NetworkInterfaceId}})
				u.try(err)
				add("network interface", *attached.NetworkInterfaceId, nameOf(found.NetworkInterfaces[0].TagSet), found.NetworkInterfaces[0])
			}
		}
	}
	endpoints, err := net.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
	u.try(err)
	for _, e := range endpoints.VpcEndpoints {
		if strings.EqualFold(string(e.State), "pending") {
			e.State = "available"
		}
		add("endpoint", *e.VpcEndpointId, *e.ServiceName, e)
	}

	all, err := roles.ListRoles(ctx, &awsiam.ListRolesInput{})
	u.try(err)
	for _, r := range all.Roles {
		role, err := roles.GetRole(ctx, &awsiam.GetRoleInput{RoleName: r.RoleName})
		u.try(err)
		role.Role.AssumeRolePolicyDocument = normalized(role.Role.AssumeRolePolicyDocument)
		policies := map[string]*string{}
		names, err := roles.ListRolePolicies(ctx, &awsiam.ListRolePoliciesInput{RoleName: r.RoleName})
		u.try(err)
		for _, name := range names.PolicyNames {
			p, err := roles.GetRolePolicy(ctx, &awsiam.GetRolePolicyInput{RoleName: r.RoleName, PolicyName: aws.String(name)})
			u.try(err)
			policies[name] = normalized(p.PolicyDocument)
		}
		attached, err := roles.ListAttachedRolePolicies(ctx, &awsiam.ListAttachedRolePoliciesInput{RoleName: r.RoleName})
		u.try(err)
		add("role", "role "+*r.RoleName, *r.RoleName, []any{role.Role, policies, attached.AttachedPolicies})
	}
	profiles, err := roles.ListInstanceProfiles(ctx, &awsiam.ListInstanceProfilesInput{})
	u.try(err)
	for _, p := range profiles.InstanceProfiles {
		profile, err := roles.GetInstanceProfile(ctx, &awsiam.GetInstanceProfileInput{InstanceProfileName: p.InstanceProfileName})
		u.try(err)
		for i := range profile.InstanceProfile.Roles {
			profile.InstanceProfile.Roles[i].AssumeRolePolicyDocument = nil // it is compared at the role
		}
		add("instance profile", "profile "+*p.InstanceProfileName, *p.InstanceProfileName, profile.InstanceProfile)
	}
	providers, err := roles.ListOpenIDConnectProviders(ctx, &awsiam.ListOpenIDConnectProvidersInput{})
	u.try(err)
	for _, p := range providers.OpenIDConnectProviderList {
		provider, err := roles.GetOpenIDConnectProvider(ctx, &awsiam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: p.Arn})
		u.try(err)
		add("OIDC provider", *p.Arn, *provider.Url, provider)
	}

	compared := resources{}
	for label, value := range found {
		text, err := json.Marshal(value)
		u.try(err)
		var plain any
		u.try(json.Unmarshal([]byte(u.anonymous(string(text), labels)), &plain))
		compared[label] = simplified(plain)
	}
	return compared
}

var anyID = regexp.MustCompile(`\b[a-z]+-[0-9a-f]{8,17}\b`)

// anonymous replaces ids by labels.
func (u *user) anonymous(text string, labels map[string]string) string {
	for _, id := range slices.Backward(slices.SortedFunc(maps.Keys(labels), func(a, b string) int { return len(a) - len(b) })) {
		text = strings.ReplaceAll(text, id, labels[id])
	}
	return anyID.ReplaceAllString(text, "id")
}

// simplified is a value without volatile and empty fields, with lists in the order of their text.
func simplified(value any) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = simplified(v[i])
		}
		slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return list
	case map[string]any:
		all := map[string]any{}
		for k, item := range v {
			if item != nil && item != "" && !slices.Contains(volatile, k) {
				all[k] = simplified(item)
			}
		}
		return all
	}
	return value
}

func normalized(policy *string) *string {
	text, err := url.PathUnescape(aws.ToString(policy))
	if err != nil {
		return policy
	}
	return aws.String(iamrole.Normalize(text))
}

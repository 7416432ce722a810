package awstemplates

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// account makes resources. A call that fails ends the document with a failure.
type account struct {
	ctx    context.Context
	id     string
	region string
	ec2    *ec2.Client
	iam    *iam.Client
	dns    *route53.Client
}

// failure is the panic that ends a document.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// recovered turns a failure into an error.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}

func open(ctx context.Context, cfg aws.Config) account {
	caller, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	check(err)
	return account{
		ctx: ctx, id: aws.ToString(caller.Account), region: cfg.Region,
		ec2: ec2.NewFromConfig(cfg), iam: iam.NewFromConfig(cfg), dns: route53.NewFromConfig(cfg),
	}
}

// decode decodes the properties of a resource. A property that the struct does not have is a failure.
func decode[T any](where string, properties any) T {
	text, err := json.Marshal(properties)
	check(err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var value T
	if err := decoder.Decode(&value); err != nil {
		fail("%s: %w", where, err)
	}
	return value
}

type tags map[string]string

func (t tags) specification(kind ec2types.ResourceType) []ec2types.TagSpecification {
	if len(t) == 0 {
		return nil
	}
	var list []ec2types.Tag
	for _, k := range slices.Sorted(maps.Keys(t)) {
		list = append(list, ec2types.Tag{Key: aws.String(k), Value: aws.String(t[k])})
	}
	return []ec2types.TagSpecification{{ResourceType: kind, Tags: list}}
}

func (t tags) ofIAM() []iamtypes.Tag {
	var list []iamtypes.Tag
	for _, k := range slices.Sorted(maps.Keys(t)) {
		list = append(list, iamtypes.Tag{Key: aws.String(k), Value: aws.String(t[k])})
	}
	return list
}

func (a account) vpc(cidr string, support, hostnames bool, t tags) string {
	made, err := a.ec2.CreateVpc(a.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String(cidr), TagSpecifications: t.specification(ec2types.ResourceTypeVpc)})
	check(err)
	_, err = a.ec2.ModifyVpcAttribute(a.ctx, &ec2.ModifyVpcAttributeInput{VpcId: made.Vpc.VpcId, EnableDnsSupport: &ec2types.AttributeBooleanValue{Value: aws.Bool(support)}})
	check(err)
	_, err = a.ec2.ModifyVpcAttribute(a.ctx, &ec2.ModifyVpcAttributeInput{VpcId: made.Vpc.VpcId, EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(hostnames)}})
	check(err)
	return aws.ToString(made.Vpc.VpcId)
}

func (a account) dhcpOptions(domain string, servers []string, t tags) string {
	made, err := a.ec2.CreateDhcpOptions(a.ctx, &ec2.CreateDhcpOptionsInput{
		DhcpConfigurations: []ec2types.NewDhcpConfiguration{
			{Key: aws.String("domain-name"), Values: []string{domain}}, {Key: aws.String("domain-name-servers"), Values: servers},
		},
		TagSpecifications: t.specification(ec2types.ResourceTypeDhcpOptions),
	})
	check(err)
	return aws.ToString(made.DhcpOptions.DhcpOptionsId)
}

func (a account) associateDHCPOptions(vpc, options string) {
	_, err := a.ec2.AssociateDhcpOptions(a.ctx, &ec2.AssociateDhcpOptionsInput{VpcId: aws.String(vpc), DhcpOptionsId: aws.String(options)})
	check(err)
}

func (a account) internetGateway(t tags) string {
	made, err := a.ec2.CreateInternetGateway(a.ctx, &ec2.CreateInternetGatewayInput{TagSpecifications: t.specification(ec2types.ResourceTypeInternetGateway)})
	check(err)
	return aws.ToString(made.InternetGateway.InternetGatewayId)
}

func (a account) attach(gateway, vpc string) {
	_, err := a.ec2.AttachInternetGateway(a.ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: aws.String(gateway), VpcId: aws.String(vpc)})
	check(err)
}

func (a account) subnet(vpc, cidr, zone string, t tags) string {
	made, err := a.ec2.CreateSubnet(a.ctx, &ec2.CreateSubnetInput{
		VpcId: aws.String(vpc), CidrBlock: aws.String(cidr), AvailabilityZone: aws.String(zone), TagSpecifications: t.specification(ec2types.ResourceTypeSubnet),
	})
	check(err)
	return aws.ToString(made.Subnet.SubnetId)
}

func (a account) address(domain string, t tags) string {
	made, err := a.ec2.AllocateAddress(a.ctx, &ec2.AllocateAddressInput{Domain: ec2types.DomainType(domain), TagSpecifications: t.specification(ec2types.ResourceTypeElasticIp)})
	check(err)
	return aws.ToString(made.AllocationId)
}

func (a account) natGateway(subnet, address string, t tags) string {
	made, err := a.ec2.CreateNatGateway(a.ctx, &ec2.CreateNatGatewayInput{
		SubnetId: aws.String(subnet), AllocationId: aws.String(address), TagSpecifications: t.specification(ec2types.ResourceTypeNatgateway),
	})
	check(err)
	return aws.ToString(made.NatGateway.NatGatewayId)
}

func (a account) routeTable(vpc string, t tags) string {
	made, err := a.ec2.CreateRouteTable(a.ctx, &ec2.CreateRouteTableInput{VpcId: aws.String(vpc), TagSpecifications: t.specification(ec2types.ResourceTypeRouteTable)})
	check(err)
	return aws.ToString(made.RouteTable.RouteTableId)
}

func (a account) route(table, cidr, gateway, nat string) {
	in := &ec2.CreateRouteInput{RouteTableId: aws.String(table), DestinationCidrBlock: aws.String(cidr)}
	if gateway != "" {
		in.GatewayId = aws.String(gateway)
	}
	if nat != "" {
		in.NatGatewayId = aws.String(nat)
	}
	_, err := a.ec2.CreateRoute(a.ctx, in)
	check(err)
}

func (a account) associateTable(table, subnet string) string {
	made, err := a.ec2.AssociateRouteTable(a.ctx, &ec2.AssociateRouteTableInput{RouteTableId: aws.String(table), SubnetId: aws.String(subnet)})
	check(err)
	return aws.ToString(made.AssociationId)
}

func (a account) securityGroup(name, description, vpc string, t tags) string {
	made, err := a.ec2.CreateSecurityGroup(a.ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(name), Description: aws.String(description), VpcId: aws.String(vpc), TagSpecifications: t.specification(ec2types.ResourceTypeSecurityGroup),
	})
	check(err)
	return aws.ToString(made.GroupId)
}

// revokeEgress deletes the rule of a new group that lets everything out.
func (a account) revokeEgress(group string) {
	found, err := a.ec2.DescribeSecurityGroups(a.ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	check(err)
	_, err = a.ec2.RevokeSecurityGroupEgress(a.ctx, &ec2.RevokeSecurityGroupEgressInput{GroupId: aws.String(group), IpPermissions: found.SecurityGroups[0].IpPermissionsEgress})
	check(err)
}

// permission is a rule with one source or destination. Rules of all protocols have no ports.
func permission(protocol string, from, to *int32, cidr string) []ec2types.IpPermission {
	return []ec2types.IpPermission{{IpProtocol: aws.String(protocol), FromPort: from, ToPort: to, IpRanges: []ec2types.IpRange{{CidrIp: aws.String(cidr)}}}}
}

func (a account) ingress(group string, rule []ec2types.IpPermission) {
	_, err := a.ec2.AuthorizeSecurityGroupIngress(a.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group), IpPermissions: rule})
	check(err)
}

func (a account) egress(group string, rule []ec2types.IpPermission) {
	_, err := a.ec2.AuthorizeSecurityGroupEgress(a.ctx, &ec2.AuthorizeSecurityGroupEgressInput{GroupId: aws.String(group), IpPermissions: rule})
	check(err)
}

// publicImage is used instead of the value of a parameter of Systems Manager, which EC2 reads itself.
func publicImage(parameter string) string { return "resolve:ssm:" + parameter }

// launch launches an instance and returns its id and its network interface's id.
func (a account) launch(in *ec2.RunInstancesInput, tagged map[ec2types.ResourceType]tags) (id, networkInterface string) {
	in.MinCount, in.MaxCount = aws.Int32(1), aws.Int32(1)
	for _, kind := range slices.Sorted(maps.Keys(tagged)) {
		in.TagSpecifications = append(in.TagSpecifications, tagged[kind].specification(kind)...)
	}
	made, err := a.ec2.RunInstances(a.ctx, in)
	check(err)
	return aws.ToString(made.Instances[0].InstanceId), aws.ToString(made.Instances[0].NetworkInterfaces[0].NetworkInterfaceId)
}

func (a account) tag(resource, key, value string) {
	_, err := a.ec2.CreateTags(a.ctx, &ec2.CreateTagsInput{Resources: []string{resource}, Tags: []ec2types.Tag{{Key: aws.String(key), Value: aws.String(value)}}})
	check(err)
}

func (a account) mainTable(vpc, table string) {
	found, err := a.ec2.DescribeRouteTables(a.ctx, &ec2.DescribeRouteTablesInput{Filters: []ec2types.Filter{
		{Name: aws.String("vpc-id"), Values: []string{vpc}}, {Name: aws.String("association.main"), Values: []string{"true"}},
	}})
	check(err)
	for _, association := range found.RouteTables[0].Associations {
		if aws.ToBool(association.Main) {
			_, err = a.ec2.ReplaceRouteTableAssociation(a.ctx, &ec2.ReplaceRouteTableAssociationInput{AssociationId: association.RouteTableAssociationId, RouteTableId: aws.String(table)})
			check(err)
		}
	}
}

func (a account) gatewayEndpoint(vpc, service string, tables []string, t tags) string {
	made, err := a.ec2.CreateVpcEndpoint(a.ctx, &ec2.CreateVpcEndpointInput{
		VpcId: aws.String(vpc), ServiceName: aws.String(service), VpcEndpointType: ec2types.VpcEndpointTypeGateway, RouteTableIds: tables,
		TagSpecifications: t.specification(ec2types.ResourceTypeVpcEndpoint),
	})
	check(err)
	return aws.ToString(made.VpcEndpoint.VpcEndpointId)
}

func (a account) privateZone(name, vpc, region, comment string, t tags) string {
	config := &route53types.HostedZoneConfig{PrivateZone: true}
	if comment != "" {
		config.Comment = aws.String(comment)
	}
	made, err := a.dns.CreateHostedZone(a.ctx, &route53.CreateHostedZoneInput{
		Name: aws.String(name), CallerReference: aws.String(fmt.Sprint(rand.Uint64())), HostedZoneConfig: config,
		VPC: &route53types.VPC{VPCId: aws.String(vpc), VPCRegion: route53types.VPCRegion(region)},
	})
	check(err)
	id := strings.TrimPrefix(aws.ToString(made.HostedZone.Id), "/hostedzone/")
	if len(t) > 0 {
		var list []route53types.Tag
		for _, k := range slices.Sorted(maps.Keys(t)) {
			list = append(list, route53types.Tag{Key: aws.String(k), Value: aws.String(t[k])})
		}
		_, err = a.dns.ChangeTagsForResource(a.ctx, &route53.ChangeTagsForResourceInput{ResourceId: aws.String(id), ResourceType: route53types.TagResourceTypeHostedzone, AddTags: list})
		check(err)
	}
	return id
}

// soa returns the SOA record of a zone.
func (a account) soa(zone string) route53types.ResourceRecordSet {
	found, err := a.dns.ListResourceRecordSets(a.ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: aws.String(zone)})
	check(err)
	for _, r := range found.ResourceRecordSets {
		if r.Type == route53types.RRTypeSoa {
			return r
		}
	}
	fail("zone %s has no SOA record", zone)
	return route53types.ResourceRecordSet{}
}

func (a account) publicZone(name string) string {
	found, err := a.dns.ListHostedZonesByName(a.ctx, &route53.ListHostedZonesByNameInput{DNSName: aws.String(name)})
	check(err)
	for _, z := range found.HostedZones {
		if aws.ToString(z.Name) == name+"." && !z.Config.PrivateZone {
			return strings.TrimPrefix(aws.ToString(z.Id), "/hostedzone/")
		}
	}
	fail("there is no public zone %s", name)
	return ""
}

func (a account) upsert(zone, name, kind string, ttl int64, values []string) {
	var records []route53types.ResourceRecord
	for _, v := range values {
		records = append(records, route53types.ResourceRecord{Value: aws.String(v)})
	}
	_, err := a.dns.ChangeResourceRecordSets(a.ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: aws.String(zone), ChangeBatch: &route53types.ChangeBatch{
		Changes: []route53types.Change{{Action: route53types.ChangeActionUpsert, ResourceRecordSet: &route53types.ResourceRecordSet{
			Name: aws.String(name), Type: route53types.RRType(kind), TTL: aws.Int64(ttl), ResourceRecords: records,
		}}},
	}})
	check(err)
}

func (a account) oidcProvider(url string, clients, thumbprints []string, t tags) string {
	made, err := a.iam.CreateOpenIDConnectProvider(a.ctx, &iam.CreateOpenIDConnectProviderInput{Url: aws.String(url), ClientIDList: clients, ThumbprintList: thumbprints, Tags: t.ofIAM()})
	check(err)
	return aws.ToString(made.OpenIDConnectProviderArn)
}

func (a account) role(name, trust string, t tags) {
	_, err := a.iam.CreateRole(a.ctx, &iam.CreateRoleInput{RoleName: aws.String(name), AssumeRolePolicyDocument: aws.String(trust), Tags: t.ofIAM()})
	check(err)
}

func (a account) rolePolicy(role, name, document string) {
	_, err := a.iam.PutRolePolicy(a.ctx, &iam.PutRolePolicyInput{RoleName: aws.String(role), PolicyName: aws.String(name), PolicyDocument: aws.String(document)})
	check(err)
}

func (a account) instanceProfile(name, role string, t tags) {
	_, err := a.iam.CreateInstanceProfile(a.ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(name), Tags: t.ofIAM()})
	check(err)
	_, err = a.iam.AddRoleToInstanceProfile(a.ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(name), RoleName: aws.String(role)})
	check(err)
}

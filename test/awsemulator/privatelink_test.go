package awsemulator_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func TestCreateVpcEndpointChecksWhatItIsGiven(t *testing.T) {
	p := newPair(t, false)
	stranger := newAccount(t)
	third := p.customer.subnet(t, "10.0.2.0/24", 2)
	twin := p.customer.subnet(t, "10.0.3.0/24", 0)
	foreign := stranger.subnet(t, "10.0.0.0/24", 0)
	name := *p.service.ServiceName

	for sentence, c := range map[string]struct {
		caller  *account
		service string
		subnets []string
		groups  []string
		want    string
	}{
		"two zones of the service are fine":     {p.customer, name, p.subnets, nil, ""},
		"no such service":                       {p.customer, name + "0", p.subnets, nil, "InvalidServiceName"},
		"a stranger does not see the service":   {stranger, name, []string{foreign}, nil, "InvalidServiceName"},
		"two subnets in one zone":               {p.customer, name, []string{p.subnets[0], twin}, nil, "DuplicateSubnetsInSameZone"},
		"a zone where the service is not":       {p.customer, name, []string{third}, nil, "InvalidParameter"},
		"no such subnet":                        {p.customer, name, []string{"subnet-0"}, nil, "InvalidSubnetID.NotFound"},
		"another account's subnet is not there": {p.customer, name, []string{foreign}, nil, "InvalidSubnetID.NotFound"},
		"no such security group":                {p.customer, name, p.subnets, []string{"sg-0"}, "InvalidGroup.NotFound"},
		"the owner needs no permission":         {p.provider, name, nil, nil, ""},
		"a service that AWS offers is not ours": {p.customer, "com.amazonaws.us-east-1.ec2", p.subnets, nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			input := interfaceEndpoint(c.caller.vpc, c.service, c.subnets...)
			input.SecurityGroupIds = c.groups
			_, err := c.caller.ec2.CreateVpcEndpoint(t.Context(), input)
			refused(t, err, c.want)
		})
	}
}

func TestAPermissionMayNameARole(t *testing.T) {
	p := newPair(t, false)
	role, err := emulator.Role(t.Context(), p.customer.id, "endpoint", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":"arn:aws:iam::`+p.customer.id+`:root"}}]}`)
	must(t, err)
	_, err = p.provider.ec2.ModifyVpcEndpointServicePermissions(t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{
		ServiceId: p.service.ServiceId, AddAllowedPrincipals: []string{role},
		RemoveAllowedPrincipals: []string{"arn:aws:iam::" + p.customer.id + ":root"},
	})
	must(t, err)
	permissions, err := p.provider.ec2.DescribeVpcEndpointServicePermissions(t.Context(), &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: p.service.ServiceId})
	must(t, err)
	if len(permissions.AllowedPrincipals) != 1 || *permissions.AllowedPrincipals[0].Principal != role {
		t.Errorf("got %v, want %s alone", permissions.AllowedPrincipals, role)
	}

	_, err = p.customer.ec2.CreateVpcEndpoint(t.Context(), interfaceEndpoint(p.customer.vpc, *p.service.ServiceName, p.subnets...))
	refused(t, err, "InvalidServiceName")
	session := accountWith(t, p.customer.id, assume(t, p.customer, role))
	_, err = session.ec2.CreateVpcEndpoint(t.Context(), interfaceEndpoint(p.customer.vpc, *p.service.ServiceName, p.subnets...))
	refused(t, err, "")
}

func TestAPrincipalMustBeAnARN(t *testing.T) {
	p := newPair(t, false)
	role, err := emulator.Role(t.Context(), p.customer.id, "endpoint", awsemulator.TrustRole("arn:aws:iam::"+p.customer.id+":root"))
	must(t, err)
	for principal, want := range map[string]string{
		"*":                                "",
		"arn:aws:iam::123456789012:root":   "",
		role:                               "",
		"arn:aws:iam::123456789012:role/x": "InvalidPrincipal", // it does not exist
		"123456789012":                     "InvalidPrincipal",
		"arn:aws:iam::12:role/x":           "InvalidPrincipal",
	} {
		t.Run(principal, func(t *testing.T) {
			_, err := p.provider.ec2.ModifyVpcEndpointServicePermissions(t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{
				ServiceId: p.service.ServiceId, AddAllowedPrincipals: []string{principal},
			})
			refused(t, err, want)
		})
	}
}

func TestAnEndpointTakesItsTime(t *testing.T) {
	p := newPair(t, false)
	group := p.customer.securityGroup(t, "endpoint")
	slowly(t)
	input := interfaceEndpoint(p.customer.vpc, *p.service.ServiceName, p.subnets...)
	input.SecurityGroupIds = []string{group}
	input.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeVpcEndpoint, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("me")}}}}
	made, err := p.customer.ec2.CreateVpcEndpoint(t.Context(), input)
	must(t, err)
	id := *made.VpcEndpoint.VpcEndpointId
	state := func() types.State { return p.customer.describeEndpoint(t, id).State }
	byTag := func() int {
		found, err := p.customer.ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{Filters: []types.Filter{filter("tag:owner", "me"), filter("vpc-id", p.customer.vpc)}})
		must(t, err)
		return len(found.VpcEndpoints)
	}

	equal(t, "after create", state(), "pending")
	instantly(t)
	equal(t, "later", state(), "available")
	slowly(t)
	p.customer.deleteEndpoint(t, id)
	equal(t, "after delete", state(), "deleting")
	equal(t, "found by tag while deleting", byTag(), 1)
	_, err = p.customer.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: aws.String(group)})
	refused(t, err, "DependencyViolation")

	instantly(t)
	_, err = p.customer.ec2.DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{id}})
	refused(t, err, "InvalidVpcEndpointId.NotFound")
	equal(t, "found by tag when gone", byTag(), 0)
	_, err = p.customer.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: aws.String(group)})
	refused(t, err, "")
	gone, err := p.customer.ec2.DeleteVpcEndpoints(t.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{id}})
	must(t, err)
	if len(gone.Unsuccessful) != 1 || *gone.Unsuccessful[0].Error.Code != "InvalidVpcEndpoint.NotFound" {
		t.Errorf("deleting it again: got %v", gone.Unsuccessful)
	}
}

func TestAnEndpointCanFail(t *testing.T) {
	p := newPair(t, false)
	id := *p.customer.endpoint(t, *p.service.ServiceName, p.subnets...).VpcEndpointId
	must(t, emulator.Hold(t.Context(), id, "failed"))
	equal(t, "held", p.customer.describeEndpoint(t, id).State, "failed")
	must(t, emulator.Hold(t.Context(), id, ""))
	equal(t, "let go", p.customer.describeEndpoint(t, id).State, "available")
}

func TestTheInterfacesAndNamesFollowTheSubnets(t *testing.T) {
	p := newPair(t, false)
	group := p.customer.securityGroup(t, "endpoint")
	endpoint := p.customer.endpoint(t, *p.service.ServiceName, p.subnets[0])
	id := endpoint.VpcEndpointId
	check := func(when string, enis int, zones ...string) {
		t.Helper()
		got := p.customer.describeEndpoint(t, *id)
		equal(t, when+": interfaces", len(got.NetworkInterfaceIds), enis)
		equal(t, when+": names", len(got.DnsEntries), 1+len(zones))
		domain := strings.TrimPrefix(*p.service.ServiceName, "com.amazonaws.vpce.us-east-1.") + ".us-east-1.vpce.amazonaws.com"
		for i, entry := range got.DnsEntries {
			if !strings.HasPrefix(*entry.DnsName, *id+"-") || !strings.HasSuffix(*entry.DnsName, "."+domain) || *entry.HostedZoneId == "" {
				t.Errorf("%s: name %s in %s", when, *entry.DnsName, *entry.HostedZoneId)
			}
			if i > 0 && !strings.Contains(*entry.DnsName, "-"+zones[i-1]+".") {
				t.Errorf("%s: name %s, want zone %s", when, *entry.DnsName, zones[i-1])
			}
		}
	}
	check("one subnet", 1, p.customer.zones[0])

	_, err := p.customer.ec2.ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: id, AddSubnetIds: p.subnets[1:], AddSecurityGroupIds: []string{group}})
	must(t, err)
	check("two subnets", 2, p.customer.zones[0], p.customer.zones[1])
	enis, err := p.customer.ec2.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter("group-id", group)}})
	must(t, err)
	equal(t, "interfaces with the new group", len(enis.NetworkInterfaces), 2)

	_, err = p.customer.ec2.ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: id, RemoveSubnetIds: p.subnets[:1]})
	must(t, err)
	check("the other subnet", 1, p.customer.zones[1])

	twin := p.customer.subnet(t, "10.0.3.0/24", 1)
	_, err = p.customer.ec2.ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: id, AddSubnetIds: []string{twin}})
	refused(t, err, "DuplicateSubnetsInSameZone")
	_, err = p.customer.ec2.ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: id, AddSubnetIds: []string{"subnet-0"}})
	refused(t, err, "InvalidSubnetID.NotFound")
	_, err = p.customer.ec2.ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: id, RemoveSubnetIds: p.subnets[1:], AddSubnetIds: []string{twin}})
	refused(t, err, "")
}

func TestConnections(t *testing.T) {
	p := newPair(t, true)
	endpoint := *p.customer.endpoint(t, *p.service.ServiceName, p.subnets...).VpcEndpointId
	other := newPair(t, true)
	other.customer.endpoint(t, *other.service.ServiceName, other.subnets...)
	ids := []string{endpoint}
	connection := func() types.VpcEndpointConnection {
		t.Helper()
		found, err := p.provider.ec2.DescribeVpcEndpointConnections(t.Context(), &ec2.DescribeVpcEndpointConnectionsInput{Filters: []types.Filter{filter("service-id", *p.service.ServiceId)}})
		must(t, err)
		equal(t, "connections of the service", len(found.VpcEndpointConnections), 1)
		return found.VpcEndpointConnections[0]
	}
	both := func(want types.State) {
		t.Helper()
		equal(t, "the provider's view", connection().VpcEndpointState, want)
		equal(t, "the customer's view", p.customer.describeEndpoint(t, endpoint).State, want)
	}
	deletion := func() string {
		t.Helper()
		answer, err := p.provider.ec2.DeleteVpcEndpointServiceConfigurations(t.Context(), &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{*p.service.ServiceId}})
		must(t, err)
		if len(answer.Unsuccessful) == 0 {
			return ""
		}
		return *answer.Unsuccessful[0].Error.Code
	}

	both("pendingAcceptance")
	equal(t, "the owner", *connection().VpcEndpointOwner, p.customer.id)
	slowly(t)
	_, err := p.provider.ec2.AcceptVpcEndpointConnections(t.Context(), &ec2.AcceptVpcEndpointConnectionsInput{ServiceId: p.service.ServiceId, VpcEndpointIds: ids})
	must(t, err)
	both("pending")
	instantly(t)
	both("available")
	equal(t, "deleting a used service", deletion(), "ExistingVpcEndpointConnections")

	answer, err := p.provider.ec2.RejectVpcEndpointConnections(t.Context(), &ec2.RejectVpcEndpointConnectionsInput{ServiceId: p.service.ServiceId, VpcEndpointIds: []string{endpoint, "vpce-0"}})
	must(t, err)
	if len(answer.Unsuccessful) != 1 || *answer.Unsuccessful[0].ResourceId != "vpce-0" {
		t.Errorf("rejecting an unknown endpoint: got %v", answer.Unsuccessful)
	}
	both("rejected")
	equal(t, "deleting a service whose connection was rejected", deletion(), "")
	equal(t, "deleting it again", deletion(), "InvalidVpcEndpointService.NotFound")
}

func TestServiceConfigurationsAreFoundByWhatIsAskedFor(t *testing.T) {
	p := newPair(t, false)
	second := p.provider.service(t, false, *p.provider.nlb(t, "second", p.provider.subnet(t, "10.0.9.0/24", 2)).LoadBalancerArn)
	_, err := p.provider.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{*second.ServiceId}, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("me")}}})
	must(t, err)
	for sentence, c := range map[string]struct {
		filter types.Filter
		want   []string
	}{
		"by name":                {filter("service-name", *p.service.ServiceName), []string{*p.service.ServiceId}},
		"by id":                  {filter("service-id", *second.ServiceId), []string{*second.ServiceId}},
		"by tag":                 {filter("tag:owner", "me"), []string{*second.ServiceId}},
		"by a tag that none has": {filter("tag:owner", "you"), nil},
		"by a key":               {filter("tag-key", "owner"), []string{*second.ServiceId}},
		"by state":               {filter("service-state", "Available"), []string{*p.service.ServiceId, *second.ServiceId}},
	} {
		t.Run(sentence, func(t *testing.T) {
			found, err := p.provider.ec2.DescribeVpcEndpointServiceConfigurations(t.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{Filters: []types.Filter{c.filter}})
			must(t, err)
			var got []string
			for _, s := range found.ServiceConfigurations {
				got = append(got, *s.ServiceId)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	_, err = p.provider.ec2.DescribeVpcEndpointServiceConfigurations(t.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{ServiceIds: []string{"vpce-svc-0"}})
	refused(t, err, "InvalidVpcEndpointServiceId.NotFound")

	pages := ec2.NewDescribeVpcEndpointServiceConfigurationsPaginator(p.provider.ec2, &ec2.DescribeVpcEndpointServiceConfigurationsInput{MaxResults: aws.Int32(1)})
	count := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		must(t, err)
		equal(t, "services on a page", len(page.ServiceConfigurations), 1)
		count++
	}
	equal(t, "pages", count, 2)
}

func TestTheServiceSaysInWhichZonesItIs(t *testing.T) {
	p := newPair(t, false)
	equal(t, "zone ids", strings.Join(p.service.AvailabilityZoneIds, " "), "use1-az1 use1-az2")
	names := slices.Sorted(slices.Values(p.provider.zones[:2]))
	if !slices.Equal(p.service.AvailabilityZones, names) {
		t.Errorf("zone names: got %v, want the provider's own %v", p.service.AvailabilityZones, names)
	}
}

func TestALoadBalancerServesOneService(t *testing.T) {
	p := newPair(t, false)
	_, err := p.provider.ec2.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{NetworkLoadBalancerArns: []string{*p.nlb.LoadBalancerArn}})
	refused(t, err, "InvalidParameter")
}

// The routes of a gateway endpoint are in its route tables, and only there.
func TestAGatewayEndpointFollowsItsRouteTables(t *testing.T) {
	a := newAccount(t)
	table := func() string {
		made, err := a.ec2.CreateRouteTable(t.Context(), &ec2.CreateRouteTableInput{VpcId: aws.String(a.vpc)})
		must(t, err)
		return *made.RouteTable.RouteTableId
	}
	first, second := table(), table()
	made, err := a.ec2.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{
		VpcId: aws.String(a.vpc), ServiceName: aws.String("com.amazonaws.us-east-1.s3"), RouteTableIds: []string{first},
	})
	must(t, err)
	id := made.VpcEndpoint.VpcEndpointId
	_, err = a.ec2.ModifyVpcEndpoint(t.Context(), &ec2.ModifyVpcEndpointInput{VpcEndpointId: id, AddRouteTableIds: []string{second}, RemoveRouteTableIds: []string{first}})
	must(t, err)
	routes := func(table string) (found int) {
		tables, err := a.ec2.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{RouteTableIds: []string{table}})
		must(t, err)
		for _, route := range tables.RouteTables[0].Routes {
			if aws.ToString(route.GatewayId) == *id {
				found++
			}
		}
		return found
	}
	equal(t, "routes of the first table", routes(first), 0)
	equal(t, "routes of the second table", routes(second), 1)
	a.deleteEndpoint(t, *id)
	equal(t, "routes after the deletion", routes(second), 0)
}

// A client that got no answer repeats its call, while the first one is still under way.
func TestAGatewayEndpointIsDeletedOnce(t *testing.T) {
	a := newAccount(t)
	table, err := a.ec2.CreateRouteTable(t.Context(), &ec2.CreateRouteTableInput{VpcId: aws.String(a.vpc)})
	must(t, err)
	for range 10 {
		made, err := a.ec2.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{
			VpcId: aws.String(a.vpc), ServiceName: aws.String("com.amazonaws.us-east-1.s3"), RouteTableIds: []string{*table.RouteTable.RouteTableId},
		})
		must(t, err)
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				answer, err := a.ec2.DeleteVpcEndpoints(t.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{*made.VpcEndpoint.VpcEndpointId}})
				if err != nil || len(answer.Unsuccessful) > 0 && *answer.Unsuccessful[0].Error.Code != "InvalidVpcEndpoint.NotFound" {
					t.Errorf("the deletion: %+v, %v", answer, err)
				}
			})
		}
		calls.Wait()
	}
}

func TestAGatewayEndpointNeedsNoType(t *testing.T) {
	a := newAccount(t)
	made, err := a.ec2.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{VpcId: aws.String(a.vpc), ServiceName: aws.String("com.amazonaws.us-east-1.s3")})
	must(t, err)
	equal(t, "type", made.VpcEndpoint.VpcEndpointType, types.VpcEndpointTypeGateway)
	a.deleteEndpoint(t, *made.VpcEndpoint.VpcEndpointId)
}

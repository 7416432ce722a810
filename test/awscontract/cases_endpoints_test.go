package awscontract

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (r *run) endpointTo(service string, subnets ...string) *ec2.CreateVpcEndpointInput {
	return &ec2.CreateVpcEndpointInput{
		VpcId: &r.vpc, ServiceName: &service, VpcEndpointType: types.VpcEndpointTypeInterface, SubnetIds: subnets,
		TagSpecifications: spec(types.ResourceTypeVpcEndpoint, "contract", "endpoint"),
	}
}

// endpoint makes an endpoint and takes it away after the case.
func (r *run) endpoint(in *ec2.CreateVpcEndpointInput) types.VpcEndpoint {
	out, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, in)
	r.ok("CreateVpcEndpoint", err)
	r.later(func() {
		r.deleteEndpoint(*out.VpcEndpoint.VpcEndpointId)
		r.wait(r.ctx, func() bool { return r.state(*out.VpcEndpoint.VpcEndpointId) == "" })
	})
	return *out.VpcEndpoint
}

func (r *run) deleteEndpoint(id string) []types.UnsuccessfulItem {
	out, err := r.consumer.ec2.DeleteVpcEndpoints(r.ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{id}})
	if err != nil {
		return []types.UnsuccessfulItem{{Error: &types.UnsuccessfulItemError{Code: aws.String(err.Error())}}}
	}
	return out.Unsuccessful
}

// find returns the endpoint, or nil if it is not there.
func (r *run) find(id string) *types.VpcEndpoint {
	out, err := r.consumer.ec2.DescribeVpcEndpoints(r.ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{id}})
	if err != nil || len(out.VpcEndpoints) == 0 {
		return nil
	}
	return &out.VpcEndpoints[0]
}

func (r *run) state(id string) string {
	if e := r.find(id); e != nil {
		return string(e.State)
	}
	return ""
}

func (r *run) becomesAvailable(id string) {
	r.becomes("the endpoint is available", func() bool { return r.state(id) == "available" })
}

func groupIDs(e *types.VpcEndpoint) []string {
	var out []string
	for _, g := range e.Groups {
		out = append(out, *g.GroupId)
	}
	slices.Sort(out)
	return out
}

var endpointCases = []contract{
	{name: "an endpoint is pending, then available", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.equal("state", string(e.State), "pending")
		r.equal("owner", aws.ToString(e.OwnerId), r.consumer.account)
		r.becomesAvailable(*e.VpcEndpointId)
	}},
	{name: "an endpoint has the default security group if none is given", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.equal("groups", len(e.Groups), 1)
	}},
	{name: "an endpoint has a regional name first, then one per zone, with their hosted zone", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a, r.b))
		r.becomesAvailable(*e.VpcEndpointId)
		got := r.find(*e.VpcEndpointId)
		r.equal("names", len(got.DnsEntries), 3)
		service := name[strings.LastIndex(name, ".")+1:]
		for _, d := range got.DnsEntries {
			r.equal("domain", strings.HasSuffix(*d.DnsName, "."+service+"."+region+".vpce.amazonaws.com"), true)
			r.equal("hosted zone", aws.ToString(d.HostedZoneId), "Z7HUB22UULQXV")
		}
		first, _, _ := strings.Cut(*got.DnsEntries[0].DnsName, ".")
		second, _, _ := strings.Cut(*got.DnsEntries[1].DnsName, ".")
		r.equal("the second name is the first and a zone", strings.HasPrefix(second, first+"-"+region), true)
	}},
	{name: "an endpoint has a network interface in each subnet", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a, r.b))
		r.becomesAvailable(*e.VpcEndpointId)
		got := r.find(*e.VpcEndpointId)
		r.equal("interfaces", len(got.NetworkInterfaceIds), 2)
		out, err := r.consumer.ec2.DescribeNetworkInterfaces(r.ctx, &ec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: got.NetworkInterfaceIds})
		r.ok("DescribeNetworkInterfaces", err)
		for _, i := range out.NetworkInterfaces {
			r.equal("in a subnet of the endpoint", slices.Contains(got.SubnetIds, *i.SubnetId), true)
			r.equal("type", string(i.InterfaceType), "vpc_endpoint")
		}
	}},
	{name: "a service that does not exist and one that lets nobody in look the same", steps: func(r *run) {
		_, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, r.endpointTo("com.amazonaws.vpce."+region+".vpce-svc-0123456789abcdef0", r.a))
		r.refused("no service", err, "InvalidServiceName")
		out, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, r.serviceOn(false, r.balancer))
		r.ok("CreateVpcEndpointServiceConfiguration", err)
		r.later(func() { r.dropService(*out.ServiceConfiguration.ServiceId) })
		_, err = r.consumer.ec2.CreateVpcEndpoint(r.ctx, r.endpointTo(*out.ServiceConfiguration.ServiceName, r.a))
		r.refused("not allowed", err, "InvalidServiceName")
	}},
	{name: "two subnets of one zone are refused", steps: func(r *run) {
		_, name := r.service(false)
		_, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, r.endpointTo(name, r.a, r.a2))
		r.refused("CreateVpcEndpoint", err, "DuplicateSubnetsInSameZone")
	}},
	{name: "a subnet in a zone that the service does not serve is refused", steps: func(r *run) {
		// https://github.com/aws/aws-sdk-go-v2/issues/1024
		_, name := r.service(false)
		_, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, r.endpointTo(name, r.a, r.unserved))
		r.refused("CreateVpcEndpoint", err, "InvalidParameter")
	}},
	{name: "a subnet of another VPC is refused", steps: func(r *run) {
		_, name := r.service(false)
		_, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, r.endpointTo(name, r.foreign))
		r.refused("CreateVpcEndpoint", err, "InvalidParameter")
	}},
	{name: "unknown subnets, groups and VPCs are not found", steps: func(r *run) {
		_, name := r.service(false)
		_, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, r.endpointTo(name, "subnet-0123456789abcdef0"))
		r.refused("subnet", err, "InvalidSubnetID.NotFound", "InvalidSubnetId.NotFound")
		in := r.endpointTo(name, r.a)
		in.SecurityGroupIds = []string{"sg-0123456789abcdef0"}
		_, err = r.consumer.ec2.CreateVpcEndpoint(r.ctx, in)
		r.refused("group", err, "InvalidGroup.NotFound", "InvalidSecurityGroupId.NotFound")
		in = r.endpointTo(name, r.a)
		in.VpcId = aws.String("vpc-0123456789abcdef0")
		_, err = r.consumer.ec2.CreateVpcEndpoint(r.ctx, in)
		r.refused("VPC", err, "InvalidVpcID.NotFound", "InvalidVpcId.NotFound")
	}},
	{name: "a client token makes creating twice one endpoint", steps: func(r *run) {
		_, name := r.service(false)
		in := r.endpointTo(name, r.a)
		in.ClientToken = aws.String(r.unique("token"))
		first := r.endpoint(in)
		second, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, in)
		r.ok("CreateVpcEndpoint again", err)
		r.equal("same endpoint", *second.VpcEndpoint.VpcEndpointId, *first.VpcEndpointId)
		in.SubnetIds = []string{r.b}
		_, err = r.consumer.ec2.CreateVpcEndpoint(r.ctx, in)
		r.refused("the token with other parameters", err, "IdempotentParameterMismatch")
	}},
	{name: "a client token whose endpoint is deleted makes no second one", steps: func(r *run) {
		// A retry "completes successfully without performing any further actions":
		// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
		_, name := r.service(false)
		in := r.endpointTo(name, r.a)
		in.ClientToken = aws.String(r.unique("token"))
		e := r.endpoint(in)
		r.deleteEndpoint(*e.VpcEndpointId)
		r.becomes("the endpoint is gone", func() bool { return r.state(*e.VpcEndpointId) == "" })
		again, err := r.consumer.ec2.CreateVpcEndpoint(r.ctx, in)
		r.ok("CreateVpcEndpoint", err)
		r.later(func() { r.deleteEndpoint(*again.VpcEndpoint.VpcEndpointId) })
		r.equal("same endpoint", *again.VpcEndpoint.VpcEndpointId, *e.VpcEndpointId)
		r.equal("state after that", r.state(*e.VpcEndpointId), "")
	}},
	{name: "endpoints are found by tag and VPC", steps: func(r *run) {
		_, name := r.service(false)
		r.endpoint(r.endpointTo(name, r.a))
		for _, c := range []struct {
			vpc, tag string
			want     int
		}{{r.vpc, "endpoint", 1}, {r.vpc, "another", 0}, {r.other, "endpoint", 0}} {
			out, err := r.consumer.ec2.DescribeVpcEndpoints(r.ctx, &ec2.DescribeVpcEndpointsInput{Filters: append(filter("tag:contract", c.tag), filter("vpc-id", c.vpc)...)})
			r.ok("DescribeVpcEndpoints", err)
			r.equal("endpoints", len(out.VpcEndpoints), c.want)
		}
	}},
	{name: "a modified endpoint moves its interfaces and names with its subnets and groups", steps: func(r *run) {
		_, name := r.service(false)
		g := r.group()
		e := r.endpoint(r.endpointTo(name, r.a))
		r.becomesAvailable(*e.VpcEndpointId)
		_, err := r.consumer.ec2.ModifyVpcEndpoint(r.ctx, &ec2.ModifyVpcEndpointInput{
			VpcEndpointId: e.VpcEndpointId, AddSubnetIds: []string{r.b}, AddSecurityGroupIds: []string{g}, RemoveSecurityGroupIds: groupIDs(&e)})
		r.ok("ModifyVpcEndpoint", err)
		r.becomesAvailable(*e.VpcEndpointId)
		got := r.find(*e.VpcEndpointId)
		r.equal("subnets", slices.Sorted(slices.Values(got.SubnetIds)), slices.Sorted(slices.Values([]string{r.a, r.b})))
		r.equal("groups", groupIDs(got), []string{g})
		r.equal("interfaces and names", []int{len(got.NetworkInterfaceIds), len(got.DnsEntries)}, []int{2, 3})
		_, err = r.consumer.ec2.ModifyVpcEndpoint(r.ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: e.VpcEndpointId, RemoveSubnetIds: []string{r.a}})
		r.ok("ModifyVpcEndpoint", err)
		r.becomesAvailable(*e.VpcEndpointId)
		got = r.find(*e.VpcEndpointId)
		r.equal("subnets", got.SubnetIds, []string{r.b})
		r.equal("interfaces and names", []int{len(got.NetworkInterfaceIds), len(got.DnsEntries)}, []int{1, 2})
	}},
	{name: "a modification with a second subnet of a zone or an unknown one is refused", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.becomesAvailable(*e.VpcEndpointId)
		modify := func(add string) error {
			_, err := r.consumer.ec2.ModifyVpcEndpoint(r.ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: e.VpcEndpointId, AddSubnetIds: []string{add}})
			return err
		}
		r.refused("one zone", modify(r.a2), "DuplicateSubnetsInSameZone")
		r.refused("unknown", modify("subnet-0123456789abcdef0"), "InvalidSubnetID.NotFound", "InvalidSubnetId.NotFound")
	}},
	{name: "a subnet takes the place of another one of its zone in one call", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.becomesAvailable(*e.VpcEndpointId)
		_, err := r.consumer.ec2.ModifyVpcEndpoint(r.ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: e.VpcEndpointId, AddSubnetIds: []string{r.a2}, RemoveSubnetIds: []string{r.a}})
		r.ok("ModifyVpcEndpoint", err)
		r.equal("subnets", r.find(*e.VpcEndpointId).SubnetIds, []string{r.a2})
	}},
	{name: "the policy of an endpoint is full access, can be changed, and reset", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.becomesAvailable(*e.VpcEndpointId)
		full := aws.ToString(r.find(*e.VpcEndpointId).PolicyDocument)
		r.equal("allows", strings.Contains(full, "Allow"), true)
		modify := func(in *ec2.ModifyVpcEndpointInput) string {
			in.VpcEndpointId = e.VpcEndpointId
			_, err := r.consumer.ec2.ModifyVpcEndpoint(r.ctx, in)
			r.ok("ModifyVpcEndpoint", err)
			return aws.ToString(r.find(*e.VpcEndpointId).PolicyDocument)
		}
		denies := modify(&ec2.ModifyVpcEndpointInput{PolicyDocument: aws.String(`{"Statement":[{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}]}`)})
		r.equal("denies", strings.Contains(denies, "Deny"), true)
		r.equal("reset", modify(&ec2.ModifyVpcEndpointInput{ResetPolicy: aws.Bool(true)}), full)
	}},
	{name: "private DNS and IPv6 of an endpoint need a service that offers them", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.becomesAvailable(*e.VpcEndpointId)
		_, err := r.consumer.ec2.ModifyVpcEndpoint(r.ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: e.VpcEndpointId, PrivateDnsEnabled: aws.Bool(true)})
		r.refused("private DNS", err, "InvalidParameter")
		_, err = r.consumer.ec2.ModifyVpcEndpoint(r.ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: e.VpcEndpointId, IpAddressType: types.IpAddressTypeDualstack})
		r.refused("dualstack", err, "InvalidParameter")
		got := r.find(*e.VpcEndpointId)
		r.equal("IP address type", string(got.IpAddressType), "ipv4")
		r.equal("private DNS", aws.ToBool(got.PrivateDnsEnabled), false)
		_, err = r.consumer.ec2.ModifyVpcEndpoint(r.ctx, &ec2.ModifyVpcEndpointInput{VpcEndpointId: e.VpcEndpointId, PrivateDnsEnabled: aws.Bool(false), IpAddressType: types.IpAddressTypeIpv4})
		r.ok("what is so already", err)
	}},
	{name: "a deleted endpoint is deleting, then not found, and not listed", steps: func(r *run) {
		_, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.becomesAvailable(*e.VpcEndpointId)
		r.equal("unsuccessful", codes(r.deleteEndpoint(*e.VpcEndpointId)), []string(nil))
		r.equal("state", r.state(*e.VpcEndpointId), "deleting")
		r.becomes("the endpoint is gone", func() bool { return r.state(*e.VpcEndpointId) == "" })
		_, err := r.consumer.ec2.DescribeVpcEndpoints(r.ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{*e.VpcEndpointId}})
		r.refused("DescribeVpcEndpoints", err, "InvalidVpcEndpointId.NotFound")
		out, err := r.consumer.ec2.DescribeVpcEndpoints(r.ctx, &ec2.DescribeVpcEndpointsInput{Filters: filter("tag:contract", "endpoint")})
		r.ok("DescribeVpcEndpoints", err)
		r.equal("listed", len(out.VpcEndpoints), 0)
	}},
	{name: "deleting an unknown endpoint is unsuccessful, not an error", steps: func(r *run) {
		r.equal("unsuccessful", codes(r.deleteEndpoint("vpce-0123456789abcdef0")), []string{"InvalidVpcEndpoint.NotFound"})
	}},
	{name: "the security group of an endpoint cannot be deleted until the endpoint is gone", steps: func(r *run) {
		_, name := r.service(false)
		g := r.group()
		in := r.endpointTo(name, r.a)
		in.SecurityGroupIds = []string{g}
		e := r.endpoint(in)
		drop := func() error {
			_, err := r.consumer.ec2.DeleteSecurityGroup(r.ctx, &ec2.DeleteSecurityGroupInput{GroupId: &g})
			return err
		}
		r.refused("while it is used", drop(), "DependencyViolation")
		r.deleteEndpoint(*e.VpcEndpointId)
		r.refused("while the endpoint is deleting", drop(), "DependencyViolation")
		r.becomes("the endpoint is gone", func() bool { return r.state(*e.VpcEndpointId) == "" })
		r.ok("afterwards", drop())
	}},
	{name: "the subnet of an endpoint cannot be deleted", steps: func(r *run) {
		_, name := r.service(false)
		r.endpoint(r.endpointTo(name, r.a))
		_, err := r.consumer.ec2.DeleteSubnet(r.ctx, &ec2.DeleteSubnetInput{SubnetId: &r.a})
		r.refused("DeleteSubnet", err, "DependencyViolation")
	}},
}

func (r *run) connections(service string) map[string]string {
	out, err := r.provider.ec2.DescribeVpcEndpointConnections(r.ctx, &ec2.DescribeVpcEndpointConnectionsInput{Filters: filter("service-id", service)})
	r.ok("DescribeVpcEndpointConnections", err)
	states := map[string]string{}
	for _, c := range out.VpcEndpointConnections {
		r.equal("owner", aws.ToString(c.VpcEndpointOwner), r.consumer.account)
		states[*c.VpcEndpointId] = string(c.VpcEndpointState)
	}
	return states
}

var connectionCases = []contract{
	{name: "an endpoint waits for acceptance, and is available when accepted", steps: func(r *run) {
		id, name := r.service(true)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.equal("state", string(e.State), "pendingAcceptance")
		r.becomes("the provider sees it", func() bool { return r.connections(id)[*e.VpcEndpointId] == "pendingAcceptance" })
		out, err := r.provider.ec2.AcceptVpcEndpointConnections(r.ctx, &ec2.AcceptVpcEndpointConnectionsInput{ServiceId: &id, VpcEndpointIds: []string{*e.VpcEndpointId}})
		r.ok("AcceptVpcEndpointConnections", err)
		r.equal("unsuccessful", codes(out.Unsuccessful), []string(nil))
		r.becomesAvailable(*e.VpcEndpointId)
	}},
	{name: "a service with a connection cannot be deleted until it is rejected", steps: func(r *run) {
		id, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.becomesAvailable(*e.VpcEndpointId)
		del := func() []string {
			out, err := r.provider.ec2.DeleteVpcEndpointServiceConfigurations(r.ctx, &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
			r.ok("DeleteVpcEndpointServiceConfigurations", err)
			return codes(out.Unsuccessful)
		}
		r.equal("unsuccessful", del(), []string{"ExistingVpcEndpointConnections"})
		_, err := r.provider.ec2.RejectVpcEndpointConnections(r.ctx, &ec2.RejectVpcEndpointConnectionsInput{ServiceId: &id, VpcEndpointIds: []string{*e.VpcEndpointId}})
		r.ok("RejectVpcEndpointConnections", err)
		r.becomes("the endpoint is rejected", func() bool { return r.state(*e.VpcEndpointId) == "rejected" })
		r.equal("unsuccessful", del(), []string(nil))
	}},
	{name: "answering an endpoint that is not connected is unsuccessful", steps: func(r *run) {
		id, _ := r.service(true)
		out, err := r.provider.ec2.RejectVpcEndpointConnections(r.ctx, &ec2.RejectVpcEndpointConnectionsInput{ServiceId: &id, VpcEndpointIds: []string{"vpce-0123456789abcdef0"}})
		r.ok("RejectVpcEndpointConnections", err)
		r.equal("unsuccessful", len(out.Unsuccessful), 1)
	}},
	{name: "a deleted endpoint leaves the connections", steps: func(r *run) {
		id, name := r.service(false)
		e := r.endpoint(r.endpointTo(name, r.a))
		r.becomesAvailable(*e.VpcEndpointId)
		r.deleteEndpoint(*e.VpcEndpointId)
		r.becomes("the connection is gone", func() bool {
			state := r.connections(id)[*e.VpcEndpointId]
			return state == "" || state == "deleted"
		})
	}},
}

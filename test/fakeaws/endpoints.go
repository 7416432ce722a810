package fakeaws

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

var endpointKind = declare[*endpoint]("vpce", "vpc-endpoint", "InvalidVpcEndpointId.NotFound")

func init() {
	register(EC2,
		write("CreateVpcEndpoint", (*request).createEndpoint, "VpcId", "ServiceName", "VpcEndpointType", "SubnetIds", "SecurityGroupIds", "ClientToken", "TagSpecifications", "PrivateDnsEnabled", "IpAddressType", "PolicyDocument"),
		read("DescribeVpcEndpoints", (*request).describeEndpoints, "VpcEndpointIds", "Filters", "MaxResults", "NextToken"),
		write("ModifyVpcEndpoint", (*request).modifyEndpoint, "VpcEndpointId", "AddSubnetIds", "RemoveSubnetIds", "AddSecurityGroupIds", "RemoveSecurityGroupIds", "PrivateDnsEnabled", "IpAddressType", "PolicyDocument", "ResetPolicy"),
		write("DeleteVpcEndpoints", (*request).deleteEndpoints, "VpcEndpointIds"),
	)
	endpointKind.label = func(e *endpoint) string { return "endpoint(" + tagText(e.tags) + ")" }
	endpointKind.line = func(p *picture, e *endpoint) string {
		return fmt.Sprintf("%s %s to %s in %s subnets=%v groups=%v addresses=%s private DNS=%t policy=%s",
			e.id, e.state(p.q), e.service, e.vpc.id, shown(p, e.subnets), shown(p, e.groups), e.addresses, e.privateDNS, e.policy)
	}
}

var endpointAttributes = attributes[*endpoint]{
	"vpc-id":             one(func(e *endpoint) string { return e.vpc.id }),
	"service-name":       one(func(e *endpoint) string { return e.service }),
	"service-region":     one(func(e *endpoint) string { return e.region.name }),
	"vpc-endpoint-id":    one(func(e *endpoint) string { return e.id }),
	"vpc-endpoint-type":  one(func(*endpoint) string { return string(types.VpcEndpointTypeInterface) }),
	"vpc-endpoint-state": func(q *request, e *endpoint) []string { return []string{string(e.state(q))} },
	"ip-address-type":    one(func(e *endpoint) string { return string(e.addresses) }),
}

func (q *request) createEndpoint(in *ec2.CreateVpcEndpointInput) (*ec2.CreateVpcEndpointOutput, error) {
	id, err := q.idempotent(in.ClientToken, in)
	if err != nil {
		return nil, err
	}
	if id != "" {
		e := q.region.endpoints.items[id]
		if e == nil {
			// The first answer of EC2, with the present state.
			return &ec2.CreateVpcEndpointOutput{ClientToken: in.ClientToken, VpcEndpoint: &types.VpcEndpoint{
				VpcEndpointId: aws.String(id), State: deleted, VpcId: in.VpcId, ServiceName: in.ServiceName, VpcEndpointType: in.VpcEndpointType}}, nil
		}
		return &ec2.CreateVpcEndpointOutput{ClientToken: in.ClientToken, VpcEndpoint: e.describe(q)}, nil
	}
	tags, err := tagsOnCreate(in.TagSpecifications, q.region.endpoints.kind)
	if err != nil {
		return nil, err
	}
	v, err := q.region.vpcs.find(q, *in.VpcId)
	if err != nil {
		return nil, err
	}
	s := q.serviceNamed(aws.ToString(in.ServiceName))
	if s == nil {
		return nil, noService(aws.ToString(in.ServiceName))
	}
	switch {
	case in.VpcEndpointType != types.VpcEndpointTypeInterface: // the default is Gateway
		return nil, ec2Error("InvalidParameter", "The endpoint type of the request does not match the type of the service")
	}
	e := &endpoint{region: q.region, vpc: v, service: s.name, availableAt: q.now.Add(q.cloud.delays.EndpointPending), addresses: types.IpAddressTypeIpv4, policy: fullAccess}
	if err := e.set(s, endpointChange{privateDNS: in.PrivateDnsEnabled, addresses: in.IpAddressType, policy: in.PolicyDocument}); err != nil {
		return nil, err
	}
	if s.acceptance {
		e.answer = unanswered
	}
	if e.subnets, err = q.endpointSubnets(e, nil, in.SubnetIds); err != nil {
		return nil, err
	}
	if e.groups, err = q.endpointGroups(e, nil, in.SecurityGroupIds); err != nil {
		return nil, err
	}
	if len(e.groups) == 0 {
		e.groups = []*securityGroup{v.defaultGroup}
	}
	e.meta = q.made("vpce", tags)
	q.region.endpoints.add(e)
	if q.cloud.attached[s.name] == nil {
		q.cloud.attached[s.name] = map[string]*endpoint{}
	}
	q.cloud.attached[s.name][e.id] = e
	e.plug(q)
	q.remember(in.ClientToken, in, e.id)
	return &ec2.CreateVpcEndpointOutput{ClientToken: in.ClientToken, VpcEndpoint: e.describe(q)}, nil
}

// fullAccess is the policy of an endpoint without one of its own.
const fullAccess = `{"Statement":[{"Action":"*","Effect":"Allow","Principal":"*","Resource":"*"}]}`

// endpointChange holds the attributes that creation and modification set alike.
type endpointChange struct {
	privateDNS  *bool
	addresses   types.IpAddressType
	policy      *string
	resetPolicy *bool
}

// set checks everything before it changes anything. s is nil if the service is gone.
func (e *endpoint) set(s *service, c endpointChange) error {
	switch {
	case aws.ToBool(c.privateDNS) && (s == nil || s.privateName == ""):
		return noPrivateDNS(e.service)
	case c.addresses != "" && (s == nil || !s.supports(c.addresses)):
		return ec2Error("InvalidParameter", "The service does not support the IP address type "+string(c.addresses))
	case aws.ToBool(c.resetPolicy) && c.policy != nil:
		return ec2Error("InvalidParameterCombination", "ResetPolicy and PolicyDocument cannot be used together")
	case c.policy != nil && !json.Valid([]byte(*c.policy)):
		return ec2Error("InvalidParameter", "The policy document is malformed")
	}
	if c.privateDNS != nil {
		e.privateDNS = *c.privateDNS
	}
	if c.addresses != "" {
		e.addresses = c.addresses
	}
	switch {
	case c.policy != nil:
		e.policy = *c.policy
	case aws.ToBool(c.resetPolicy):
		e.policy = fullAccess
	}
	return nil
}

func noPrivateDNS(name string) error {
	return ec2Error("InvalidParameter", "Private DNS can't be enabled because the service "+name+" does not provide a private DNS name.")
}

// endpointSubnets adds subnets to those an endpoint has: of its VPC, in zones that
// the service serves, one in each zone. Zones are compared by id.
func (q *request) endpointSubnets(e *endpoint, has []*subnet, add []string) ([]*subnet, error) {
	for _, id := range add {
		n, err := q.region.subnets.find(q, id)
		if err != nil {
			return nil, err
		}
		if slices.Contains(has, n) {
			continue
		}
		if n.vpc != e.vpc {
			return nil, ec2Error("InvalidParameter", "The subnet "+id+" does not belong to the VPC "+e.vpc.id)
		}
		s := q.cloud.services[e.service]
		if s == nil || !slices.ContainsFunc(s.zones, func(z zone) bool { return z.id == n.zone.id }) {
			return nil, ec2Error("InvalidParameter", "The VPC endpoint service "+e.service+" does not support the availability zone of the subnet: "+id+".")
		}
		if slices.ContainsFunc(has, func(h *subnet) bool { return h.zone == n.zone }) {
			return nil, ec2Error("DuplicateSubnetsInSameZone", "Found another VPC endpoint subnet in the availability zone of "+id+". VPC endpoint subnets should be in different availability zones supported by the VPC endpoint service.")
		}
		has = append(has, n)
	}
	return has, nil
}

// maxGroups is the quota of security groups per network interface.
const maxGroups = 5

func (q *request) endpointGroups(e *endpoint, has []*securityGroup, add []string) ([]*securityGroup, error) {
	for _, id := range add {
		g, err := q.region.groups.find(q, id)
		if err != nil {
			return nil, err
		}
		if g.vpc != e.vpc.id {
			return nil, ec2Error("InvalidParameter", "The security group "+id+" does not belong to the VPC "+e.vpc.id)
		}
		if !slices.Contains(has, g) {
			has = append(has, g)
		}
	}
	if len(has) > maxGroups {
		return nil, ec2Error("SecurityGroupsPerInterfaceLimitExceeded", fmt.Sprintf("The maximum number of security groups per interface is %d", maxGroups))
	}
	return has, nil
}

func (q *request) describeEndpoints(in *ec2.DescribeVpcEndpointsInput) (*ec2.DescribeVpcEndpointsOutput, error) {
	found, next, err := list(q, q.region.endpoints, in.VpcEndpointIds, in.Filters, endpointAttributes, page{in.MaxResults, in.NextToken, 1})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcEndpointsOutput{NextToken: next}
	for _, e := range found {
		out.VpcEndpoints = append(out.VpcEndpoints, *e.describe(q))
	}
	return out, nil
}

// modifyEndpoint checks everything before it changes anything. A subnet may take
// the place of another one in its zone in a single call.
func (q *request) modifyEndpoint(in *ec2.ModifyVpcEndpointInput) (*ec2.ModifyVpcEndpointOutput, error) {
	e, err := q.region.endpoints.find(q, *in.VpcEndpointId)
	if err != nil {
		return nil, err
	}
	switch state := e.state(q); {
	case state != available && state != pending && state != pendingAcceptance:
		return nil, ec2Error("InvalidState", "The VPC endpoint "+e.id+" is in state "+string(state)+" and cannot be modified")
	}
	for _, id := range in.RemoveSubnetIds {
		if !slices.ContainsFunc(e.subnets, func(n *subnet) bool { return n.id == id }) {
			return nil, ec2Error("InvalidParameter", "The subnet "+id+" is not associated with the VPC endpoint "+e.id)
		}
	}
	for _, id := range in.RemoveSecurityGroupIds {
		if !slices.ContainsFunc(e.groups, func(g *securityGroup) bool { return g.id == id }) {
			return nil, ec2Error("InvalidParameter", "The security group "+id+" is not associated with the VPC endpoint "+e.id)
		}
	}
	subnets := slices.DeleteFunc(slices.Clone(e.subnets), func(n *subnet) bool { return slices.Contains(in.RemoveSubnetIds, n.id) })
	if subnets, err = q.endpointSubnets(e, subnets, in.AddSubnetIds); err != nil {
		return nil, err
	}
	groups := slices.DeleteFunc(slices.Clone(e.groups), func(g *securityGroup) bool { return slices.Contains(in.RemoveSecurityGroupIds, g.id) })
	if groups, err = q.endpointGroups(e, groups, in.AddSecurityGroupIds); err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, ec2Error("InvalidParameter", "The VPC endpoint "+e.id+" must have at least one security group")
	}
	err = e.set(q.cloud.services[e.service], endpointChange{in.PrivateDnsEnabled, in.IpAddressType, in.PolicyDocument, in.ResetPolicy})
	if err != nil {
		return nil, err
	}
	if len(in.AddSubnetIds) > 0 {
		e.availableAt = q.now.Add(q.cloud.delays.EndpointPending)
	}
	e.subnets, e.groups = subnets, groups
	e.plug(q)
	return &ec2.ModifyVpcEndpointOutput{Return: aws.Bool(true)}, nil
}

// deleteEndpoints returns an error for each id that it could not delete. The interfaces stay while
// the endpoint is deleting, so its security groups and subnets do too.
func (q *request) deleteEndpoints(in *ec2.DeleteVpcEndpointsInput) (*ec2.DeleteVpcEndpointsOutput, error) {
	out := &ec2.DeleteVpcEndpointsOutput{}
	for _, id := range in.VpcEndpointIds {
		e := q.region.endpoints.items[id]
		switch {
		case e == nil:
			out.Unsuccessful = append(out.Unsuccessful, unsuccessful(id, "InvalidVpcEndpoint.NotFound", "The Vpc Endpoint Id '"+id+"' does not exist"))
		case e.gone == "":
			e.gone = deleting
			q.cloud.leave(q.cloud.delays.EndpointDeleting, func() { e.unplug(q.cloud) })
		}
	}
	return out, nil
}

package fakeaws

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func init() {
	register(EC2,
		read("DescribeVpcEndpointConnections", (*request).describeConnections, "Filters", "MaxResults", "NextToken"),
		write("AcceptVpcEndpointConnections", (*request).acceptConnections, "ServiceId", "VpcEndpointIds"),
		write("RejectVpcEndpointConnections", (*request).rejectConnections, "ServiceId", "VpcEndpointIds"),
	)
}

// A connection is an endpoint as the owner of its service sees it.
var connectionAttributes = attributes[*endpoint]{
	"service-id":          one(func(e *endpoint) string { return e.serviceID() }),
	"vpc-endpoint-id":     one(func(e *endpoint) string { return e.id }),
	"vpc-endpoint-owner":  one(func(e *endpoint) string { return e.region.account.id }),
	"vpc-endpoint-region": one(func(e *endpoint) string { return e.region.name }),
	"vpc-endpoint-state":  func(q *request, e *endpoint) []string { return []string{string(e.state(q))} },
	"ip-address-type":     one(func(*endpoint) string { return "ipv4" }),
}

func (q *request) describeConnections(in *ec2.DescribeVpcEndpointConnectionsInput) (*ec2.DescribeVpcEndpointConnectionsOutput, error) {
	mine := map[string]*endpoint{}
	for _, s := range q.region.services.order {
		if !asksFor(in.Filters, s.id) {
			continue
		}
		for id, e := range q.cloud.attached[s.name] {
			mine[id] = e
		}
	}
	found, next, err := list(q, storeOf(mine), nil, in.Filters, connectionAttributes, page{in.MaxResults, in.NextToken, 1})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcEndpointConnectionsOutput{NextToken: next}
	for _, e := range found {
		out.VpcEndpointConnections = append(out.VpcEndpointConnections, types.VpcEndpointConnection{
			ServiceId: aws.String(e.serviceID()), VpcEndpointId: aws.String(e.id), VpcEndpointOwner: aws.String(e.region.account.id),
			VpcEndpointRegion: aws.String(e.region.name), VpcEndpointState: e.state(q), CreationTimestamp: aws.Time(e.born),
			VpcEndpointConnectionId: aws.String("vpce-con-" + e.id[len("vpce-"):]), IpAddressType: types.IpAddressTypeIpv4,
			DnsEntries: e.dns(), NetworkLoadBalancerArns: slices.Clone(q.cloud.services[e.service].balancers),
		})
	}
	return out, nil
}

// asksFor keeps a look-up for one service from walking through all of them.
func asksFor(filters []types.Filter, service string) bool {
	for _, f := range filters {
		if aws.ToString(f.Name) == "service-id" {
			return slices.Contains(f.Values, service)
		}
	}
	return true
}

func (q *request) acceptConnections(in *ec2.AcceptVpcEndpointConnectionsInput) (*ec2.AcceptVpcEndpointConnectionsOutput, error) {
	failed, err := q.answerConnections(*in.ServiceId, in.VpcEndpointIds, accepted, pendingAcceptance, rejected)
	if err != nil {
		return nil, err
	}
	return &ec2.AcceptVpcEndpointConnectionsOutput{Unsuccessful: failed}, nil
}

func (q *request) rejectConnections(in *ec2.RejectVpcEndpointConnectionsInput) (*ec2.RejectVpcEndpointConnectionsOutput, error) {
	failed, err := q.answerConnections(*in.ServiceId, in.VpcEndpointIds, refusedByOwner, pendingAcceptance, pending, available)
	if err != nil {
		return nil, err
	}
	return &ec2.RejectVpcEndpointConnectionsOutput{Unsuccessful: failed}, nil
}

// answerConnections gives the owner's answer to endpoints in one of the states,
// and says per endpoint where it could not.
func (q *request) answerConnections(serviceID string, ids []string, answer acceptance, from ...types.State) ([]types.UnsuccessfulItem, error) {
	s, err := q.region.services.find(q, serviceID)
	if err != nil {
		return nil, err
	}
	var failed []types.UnsuccessfulItem
	for _, id := range ids {
		e := q.cloud.attached[s.name][id]
		switch {
		case e == nil:
			failed = append(failed, unsuccessful(id, "InvalidVpcEndpoint.NotFound", "The VPC endpoint "+id+" is not connected to "+serviceID))
		case !slices.Contains(from, e.state(q)):
			failed = append(failed, unsuccessful(id, "InvalidState", "The VPC endpoint connection of "+id+" is in state "+string(e.state(q))))
		default:
			e.answer = answer
			e.availableAt = q.now.Add(q.cloud.delays.EndpointPending)
		}
	}
	return failed, nil
}

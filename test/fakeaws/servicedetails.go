package fakeaws

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func init() {
	register(EC2,
		read("DescribeVpcEndpointServices", (*request).describeServiceDetails, "ServiceNames", "Filters", "MaxResults", "NextToken"),
	)
}

var detailAttributes = attributes[*service]{
	"service-name": one(func(s *service) string { return s.name }),
	"service-type": one(func(*service) string { return "Interface" }),
	"owner":        one(func(s *service) string { return s.region.account.id }),
}

// describeServiceDetails is the consumer's view: the services that let the caller
// in, with zone names as the consumer's account has them.
func (q *request) describeServiceDetails(in *ec2.DescribeVpcEndpointServicesInput) (*ec2.DescribeVpcEndpointServicesOutput, error) {
	seen := newStore[*service]("vpc-endpoint-service", "InvalidServiceName")
	for _, name := range in.ServiceNames {
		s := q.serviceNamed(name)
		if s == nil {
			return nil, noService(name)
		}
		seen.add(s)
	}
	if len(in.ServiceNames) == 0 {
		all := slices.SortedFunc(maps.Values(q.cloud.services), func(a, b *service) int { return a.sequence - b.sequence })
		for _, s := range all {
			if q.serviceNamed(s.name) != nil {
				seen.add(s)
			}
		}
	}
	found, next, err := list(q, seen, nil, in.Filters, detailAttributes, page{in.MaxResults, in.NextToken, 1})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcEndpointServicesOutput{NextToken: next}
	for _, s := range found {
		out.ServiceNames = append(out.ServiceNames, s.name)
		d := types.ServiceDetail{
			ServiceId: aws.String(s.id), ServiceName: aws.String(s.name), Owner: aws.String(s.region.account.id), ServiceRegion: aws.String(s.region.name),
			ServiceType:        []types.ServiceTypeDetail{{ServiceType: types.ServiceTypeInterface}},
			AcceptanceRequired: aws.Bool(s.acceptance), ManagesVpcEndpoints: aws.Bool(false), VpcEndpointPolicySupported: aws.Bool(false),
			BaseEndpointDnsNames: []string{s.id + "." + s.region.name + ".vpce.amazonaws.com"}, Tags: tagList(s.tags),
		}
		for _, z := range s.zones {
			d.AvailabilityZones = append(d.AvailabilityZones, q.account.ZoneName(q.region.name, z.id))
			d.AvailabilityZoneIds = append(d.AvailabilityZoneIds, z.id)
		}
		out.ServiceDetails = append(out.ServiceDetails, d)
	}
	return out, nil
}

// serviceNamed returns the service in the caller's region if it lets the caller in.
func (q *request) serviceNamed(name string) *service {
	s := q.cloud.services[name]
	if s == nil || s.deleting || s.region.name != q.region.name || !s.allows(q.identity) {
		return nil
	}
	return s
}

// noService does not distinguish a missing service from a service that does not permit the caller.
func noService(name string) error {
	return ec2Error("InvalidServiceName", "The Vpc Endpoint Service '"+name+"' does not exist")
}

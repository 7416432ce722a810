package fakeaws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

var serviceKind = declare[*service]("vpce-svc", "vpc-endpoint-service", "InvalidVpcEndpointServiceId.NotFound")

func init() {
	register(EC2,
		write("CreateVpcEndpointServiceConfiguration", (*request).createService, "AcceptanceRequired", "ClientToken", "NetworkLoadBalancerArns", "SupportedIpAddressTypes", "TagSpecifications"),
		read("DescribeVpcEndpointServiceConfigurations", (*request).describeServices, "ServiceIds", "Filters", "MaxResults", "NextToken"),
		write("ModifyVpcEndpointServiceConfiguration", (*request).modifyService, "ServiceId", "AcceptanceRequired", "AddNetworkLoadBalancerArns", "RemoveNetworkLoadBalancerArns",
			"PrivateDnsName", "RemovePrivateDnsName", "AddSupportedIpAddressTypes", "RemoveSupportedIpAddressTypes", "AddSupportedRegions", "RemoveSupportedRegions"),
		write("DeleteVpcEndpointServiceConfigurations", (*request).deleteServices, "ServiceIds"),
	)
	serviceKind.label = func(s *service) string { return "service(" + strings.Join(s.balancerNames(), " ") + ")" }
	serviceKind.line = func(p *picture, s *service) string {
		return fmt.Sprintf("%s %s acceptance=%t zones=%v principals=%v addresses=%v regions=%v private name=%q%s",
			s.id, s.state(p.q), s.acceptance, s.zones, keys(s.principals), s.addresses, s.regions, s.privateName, tagText(s.tags))
	}
}

// service is a VPC endpoint service configuration.
type service struct {
	meta
	region      *region
	name        string
	acceptance  bool
	balancers   []string // ARNs, sorted
	zones       []zone   // as the owner names them
	principals  map[string]*principal
	availableAt time.Time
	deleting    bool
	privateName string
	addresses   []string // IP address types, sorted
	regions     []string // in which endpoints can be made, sorted; its own is not listed
}

var serviceAttributes = attributes[*service]{
	"service-name":  one(func(s *service) string { return s.name }),
	"service-id":    one(func(s *service) string { return s.id }),
	"service-state": func(q *request, s *service) []string { return []string{string(s.state(q))} },
}

func (s *service) state(q *request) types.ServiceState {
	switch {
	case s.deleting:
		return types.ServiceStateDeleting
	case q.now.Before(s.availableAt):
		return types.ServiceStatePending
	}
	return types.ServiceStateAvailable
}

// createService follows AWS in one load balancer, one service: the second service
// on a load balancer is refused, and its ClientToken is the only way to a safe retry.
func (q *request) createService(in *ec2.CreateVpcEndpointServiceConfigurationInput) (*ec2.CreateVpcEndpointServiceConfigurationOutput, error) {
	id, err := q.idempotent(in.ClientToken, in)
	if err != nil {
		return nil, err
	}
	if id != "" {
		s := q.region.services.items[id]
		if s == nil {
			return nil, ec2Error("InvalidVpcEndpointServiceId.NotFound", "The VpcEndpointService Id '"+id+"' does not exist")
		}
		return &ec2.CreateVpcEndpointServiceConfigurationOutput{ClientToken: in.ClientToken, ServiceConfiguration: s.describe(q)}, nil
	}
	tags, err := tagsOnCreate(in.TagSpecifications, q.region.services.kind)
	if err != nil {
		return nil, err
	}
	if len(in.NetworkLoadBalancerArns) == 0 {
		return nil, ec2Error("MissingParameter", "You must specify at least one Network Load Balancer")
	}
	if slices.ContainsFunc(in.SupportedIpAddressTypes, func(t string) bool { return t != "ipv4" }) {
		return nil, ec2Error("InvalidParameter", "The load balancers do not support the IP address types")
	}
	s := &service{
		region:      q.region,
		acceptance:  in.AcceptanceRequired == nil || *in.AcceptanceRequired, // the default is true
		balancers:   slices.Compact(slices.Sorted(slices.Values(in.NetworkLoadBalancerArns))),
		principals:  map[string]*principal{},
		availableAt: q.now.Add(q.cloud.delays.ServicePending),
		addresses:   []string{"ipv4"},
	}
	if err := q.checkBalancers(s, s.balancers); err != nil {
		return nil, err
	}
	s.meta = q.made("vpce-svc", tags)
	s.name = "com.amazonaws.vpce." + q.region.name + "." + s.id
	s.setZones()
	q.region.services.add(s)
	q.cloud.services[s.name] = s
	q.remember(in.ClientToken, in, s.id)
	return &ec2.CreateVpcEndpointServiceConfigurationOutput{ClientToken: in.ClientToken, ServiceConfiguration: s.describe(q)}, nil
}

// checkBalancers wants active network load balancers that no other service has.
func (q *request) checkBalancers(s *service, arns []string) error {
	for _, arn := range arns {
		lb := q.region.balancers.items[arn]
		switch {
		case lb == nil:
			return ec2Error("InvalidParameter", "The load balancer '"+arn+"' does not exist")
		case lb.seed.Type != "network":
			return ec2Error("InvalidParameter", "The load balancer '"+arn+"' is not a network load balancer")
		case lb.state(q) != "active":
			rule := awsrules.Get("privatelink-load-balancer-active")
			return ec2Error(rule.Code, rule.Text(arn))
		}
		if other := q.region.serviceOn(arn); other != nil && other != s {
			return ec2Error("InvalidParameter", "The load balancers '"+arn+"' are already associated with another VPC Endpoint Service Configuration")
		}
	}
	return nil
}

func (r *region) serviceOn(arn string) *service {
	return r.balancers.users[arn]
}

// setZones: a service is where its load balancers are.
func (s *service) setZones() {
	byName := map[string]zone{}
	for _, arn := range s.balancers {
		if lb := s.region.balancers.items[arn]; lb != nil {
			for _, z := range lb.zones {
				byName[z.name] = z
			}
		}
		s.region.balancers.users[arn] = s
	}
	s.zones = nil
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s.zones = append(s.zones, byName[name])
	}
}

func (s *service) describe(q *request) *types.ServiceConfiguration {
	d := &types.ServiceConfiguration{
		ServiceId: aws.String(s.id), ServiceName: aws.String(s.name), ServiceState: s.state(q),
		ServiceType:             []types.ServiceTypeDetail{{ServiceType: types.ServiceTypeInterface}},
		AcceptanceRequired:      aws.Bool(s.acceptance),
		NetworkLoadBalancerArns: slices.Clone(s.balancers),
		BaseEndpointDnsNames:    []string{s.id + "." + s.region.name + ".vpce.amazonaws.com"},
		ManagesVpcEndpoints:     aws.Bool(false),
		Tags:                    tagList(s.tags),
	}
	if s.privateName != "" {
		d.PrivateDnsName = aws.String(s.privateName)
	}
	for _, a := range s.addresses {
		d.SupportedIpAddressTypes = append(d.SupportedIpAddressTypes, types.ServiceConnectivityType(a))
	}
	for _, r := range append([]string{s.region.name}, s.regions...) {
		d.SupportedRegions = append(d.SupportedRegions, types.SupportedRegionDetail{Region: aws.String(r), ServiceState: aws.String("Available")})
	}
	for _, z := range s.zones {
		d.AvailabilityZones = append(d.AvailabilityZones, z.name)
		d.AvailabilityZoneIds = append(d.AvailabilityZoneIds, z.id)
	}
	return d
}

func (q *request) describeServices(in *ec2.DescribeVpcEndpointServiceConfigurationsInput) (*ec2.DescribeVpcEndpointServiceConfigurationsOutput, error) {
	found, next, err := list(q, q.region.services, in.ServiceIds, in.Filters, serviceAttributes, page{in.MaxResults, in.NextToken, 1})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcEndpointServiceConfigurationsOutput{NextToken: next}
	for _, s := range found {
		out.ServiceConfigurations = append(out.ServiceConfigurations, *s.describe(q))
	}
	return out, nil
}

func (q *request) modifyService(in *ec2.ModifyVpcEndpointServiceConfigurationInput) (*ec2.ModifyVpcEndpointServiceConfigurationOutput, error) {
	s, err := q.region.services.find(q, *in.ServiceId)
	if err != nil {
		return nil, err
	}
	if s.deleting {
		return nil, ec2Error("IncorrectState", "The VPC endpoint service "+s.id+" is being deleted")
	}
	if err := q.checkBalancers(s, in.AddNetworkLoadBalancerArns); err != nil {
		return nil, err
	}
	want := slices.DeleteFunc(slices.Concat(s.balancers, in.AddNetworkLoadBalancerArns), func(arn string) bool {
		return slices.Contains(in.RemoveNetworkLoadBalancerArns, arn)
	})
	for _, arn := range in.RemoveNetworkLoadBalancerArns {
		if !slices.Contains(s.balancers, arn) {
			return nil, ec2Error("InvalidParameter", "The load balancer '"+arn+"' is not associated with the VPC Endpoint Service Configuration")
		}
	}
	if len(want) == 0 {
		return nil, ec2Error("InvalidParameter", "The VPC Endpoint Service Configuration must have at least one load balancer")
	}
	if err := s.setAttributes(in); err != nil {
		return nil, err
	}
	for _, arn := range in.RemoveNetworkLoadBalancerArns {
		delete(q.region.balancers.users, arn)
	}
	s.balancers = slices.Compact(slices.Sorted(slices.Values(want)))
	s.setZones()
	if in.AcceptanceRequired != nil {
		s.acceptance = *in.AcceptanceRequired
	}
	return &ec2.ModifyVpcEndpointServiceConfigurationOutput{Return: aws.Bool(true)}, nil
}

// supports is true for an IP address type that endpoints to the service can have.
func (s *service) supports(addresses types.IpAddressType) bool {
	if addresses == types.IpAddressTypeDualstack {
		return slices.Contains(s.addresses, "ipv4") && slices.Contains(s.addresses, "ipv6")
	}
	return slices.Contains(s.addresses, string(addresses))
}

// setAttributes checks everything before it changes anything.
func (s *service) setAttributes(in *ec2.ModifyVpcEndpointServiceConfigurationInput) error {
	addresses, regions := edited(s.addresses, in.AddSupportedIpAddressTypes, in.RemoveSupportedIpAddressTypes), edited(s.regions, in.AddSupportedRegions, in.RemoveSupportedRegions)
	switch {
	case len(addresses) == 0:
		return ec2Error("InvalidParameter", "The service must support at least one IP address type")
	case in.PrivateDnsName != nil && aws.ToBool(in.RemovePrivateDnsName):
		return ec2Error("InvalidParameterCombination", "PrivateDnsName and RemovePrivateDnsName cannot be used together")
	case slices.Contains(in.RemoveSupportedRegions, s.region.name):
		return ec2Error("InvalidParameter", "The Region of the service cannot be removed")
	case aws.ToBool(in.RemovePrivateDnsName) && s.privateName == "":
		return ec2Error("InvalidParameter", "The service has no private DNS name")
	}
	for _, region := range in.RemoveSupportedRegions {
		if !slices.Contains(s.regions, region) {
			return ec2Error("InvalidParameter", "The service does not support the Region "+region)
		}
	}
	s.addresses, s.regions = addresses, regions
	switch {
	case in.PrivateDnsName != nil:
		s.privateName = *in.PrivateDnsName
	case aws.ToBool(in.RemovePrivateDnsName):
		s.privateName = ""
	}
	return nil
}

func edited(list, add, remove []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(slices.Concat(list, add), func(s string) bool {
		return slices.Contains(remove, s)
	}))))
}

// deleteServices returns an error for each id that it could not delete; the call itself succeeds.
func (q *request) deleteServices(in *ec2.DeleteVpcEndpointServiceConfigurationsInput) (*ec2.DeleteVpcEndpointServiceConfigurationsOutput, error) {
	out := &ec2.DeleteVpcEndpointServiceConfigurationsOutput{}
	for _, id := range in.ServiceIds {
		s := q.region.services.items[id]
		switch {
		case s == nil:
			out.Unsuccessful = append(out.Unsuccessful, unsuccessful(id, "InvalidVpcEndpointService.NotFound", "The VpcEndpointService Id '"+id+"' does not exist"))
		case s.connected(q):
			out.Unsuccessful = append(out.Unsuccessful, unsuccessful(id, "ExistingVpcEndpointConnections", "Service "+id+" has existing active VPC Endpoint connections!"))
		case !s.deleting:
			s.deleting = true
			q.cloud.leave(q.cloud.delays.ServiceDeleting, func() { s.remove(q.cloud) })
		}
	}
	return out, nil
}

func (s *service) remove(c *Cloud) {
	for _, arn := range s.balancers {
		delete(s.region.balancers.users, arn)
	}
	delete(c.services, s.name)
	s.region.services.remove(s.id)
}

// connected says whether a live endpoint keeps the service from being deleted.
func (s *service) connected(q *request) bool {
	for _, e := range q.cloud.attached[s.name] {
		switch e.state(q) {
		case pendingAcceptance, pending, available:
			return true
		}
	}
	return false
}

func unsuccessful(id, code, message string) types.UnsuccessfulItem {
	return types.UnsuccessfulItem{ResourceId: aws.String(id), Error: &types.UnsuccessfulItemError{Code: aws.String(code), Message: aws.String(message)}}
}

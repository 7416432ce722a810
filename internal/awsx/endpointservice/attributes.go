package endpointservice

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

type attribute = awsx.ComparedAttribute[Spec, Service, ec2.ModifyVpcEndpointServiceConfigurationInput]

const modify = "ModifyVpcEndpointServiceConfiguration"

// connectivity decides which load balancer is reached, and by which endpoints. It is repaired first,
// by a call of its own: AWS refuses a call as a whole.
var connectivity = []attribute{
	{Attribute: awsx.Attribute{Name: "NetworkLoadBalancerArns", Desired: "the load balancer of the Service, alone", Repair: modify},
		Diff: func(spec Spec, svc Service, change *ec2.ModifyVpcEndpointServiceConfigurationInput) {
			desired := []string{spec.LoadBalancerARN}
			change.AddNetworkLoadBalancerArns, change.RemoveNetworkLoadBalancerArns = minus(desired, svc.loadBalancers), minus(svc.loadBalancers, desired)
		}},
	{Attribute: awsx.Attribute{Name: "AcceptanceRequired", Desired: "false: the allowed principals decide who connects", Repair: modify},
		Diff: func(_ Spec, svc Service, change *ec2.ModifyVpcEndpointServiceConfigurationInput) {
			if svc.acceptance {
				change.AcceptanceRequired = aws.Bool(false)
			}
		}},
}

// settings are repaired after it.
var settings = []attribute{
	{Attribute: awsx.Attribute{Name: "SupportedIpAddressTypes", Desired: ipv4, Repair: modify},
		Diff: func(_ Spec, svc Service, change *ec2.ModifyVpcEndpointServiceConfigurationInput) {
			desired := []string{ipv4}
			if len(svc.addressTypes) > 0 {
				change.AddSupportedIpAddressTypes, change.RemoveSupportedIpAddressTypes = minus(desired, svc.addressTypes), minus(svc.addressTypes, desired)
			}
		}},
	{Attribute: awsx.Attribute{Name: "SupportedRegions", Desired: "the region of the service, alone", Repair: modify},
		Diff: func(_ Spec, svc Service, change *ec2.ModifyVpcEndpointServiceConfigurationInput) {
			change.RemoveSupportedRegions = svc.regions
		}},
	{Attribute: awsx.Attribute{Name: "PrivateDnsName", Desired: "none: the records of the hosted zone lead to the endpoint", Repair: modify},
		Diff: func(_ Spec, svc Service, change *ec2.ModifyVpcEndpointServiceConfigurationInput) {
			if svc.privateName != "" {
				change.RemovePrivateDnsName = aws.Bool(true)
			}
		}},
}

const ipv4 = "ipv4"

// others are repaired by other calls, or not compared.
var others = []awsx.Attribute{
	{Name: "AllowedPrincipals", Desired: "the roles that make endpoints for the cluster, and additionalAllowedPrincipals", Repair: "ModifyVpcEndpointServicePermissions"},
	{Name: "Tags", Desired: "owner, role, name, cluster, and the resource tags of the HostedCluster; tags of others stay", Repair: "CreateTags, DeleteTags"},
	{Name: "ServiceState", Reason: "set by AWS; reported in the condition"},
	{Name: "ServiceId", Reason: "cannot change"},
	{Name: "ServiceName", Reason: "cannot change"},
	{Name: "ServiceType", Reason: "cannot change"},
	{Name: "AvailabilityZones", Reason: "set by AWS; those of the load balancer"},
	{Name: "AvailabilityZoneIds", Reason: "set by AWS; read for the subnets of the endpoint"},
	{Name: "BaseEndpointDnsNames", Reason: "set by AWS"},
	{Name: "ManagesVpcEndpoints", Reason: "set by AWS"},
	{Name: "RemoteAccessEnabled", Reason: "set by AWS; follows SupportedRegions"},
	{Name: "PrivateDnsNameConfiguration", Reason: "set by AWS; follows PrivateDnsName"},
	{Name: "GatewayLoadBalancerArns", Reason: "of services for gateway load balancers alone"},
	{Name: "PayerResponsibility", Reason: "billing; changes nothing about connections"},
}

// Attributes returns all attributes of a service, those that are compared first.
func Attributes() []awsx.Attribute {
	return append(awsx.Attributes(connectivity, settings), others...)
}

// diff returns the changes that turn svc into spec. Tags and principals are changed
// by other calls.
func diff(spec Spec, svc Service) []*ec2.ModifyVpcEndpointServiceConfigurationInput {
	var changes []*ec2.ModifyVpcEndpointServiceConfigurationInput
	for _, attributes := range [][]attribute{connectivity, settings} {
		if change := awsx.Diff(attributes, spec, svc); change != nil {
			change.ServiceId = aws.String(svc.ID)
			changes = append(changes, change)
		}
	}
	return changes
}

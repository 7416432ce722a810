package endpoint

import (
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

type attribute = awsx.ComparedAttribute[Spec, Endpoint, ec2.ModifyVpcEndpointInput]

const modify = "ModifyVpcEndpoint"

// connectivity decides which machines reach the endpoint. It is repaired first.
var connectivity = []attribute{
	{Attribute: awsx.Attribute{Name: "SubnetIds", Desired: "one subnet of the NodePools in each zone of the endpoint service", Repair: modify + ", one zone at a time"}, Diff: repairSubnets},
	{Attribute: awsx.Attribute{Name: "Groups", Desired: "the security group of the endpoint, alone", Repair: modify},
		Diff: func(spec Spec, got Endpoint, change *ec2.ModifyVpcEndpointInput) {
			change.AddSecurityGroupIds, change.RemoveSecurityGroupIds = minus(spec.Groups, got.Groups), minus(got.Groups, spec.Groups)
		}},
}

// settings are repaired when the connectivity is right: a role that may not change
// them, or a service that does not support them, must not keep a zone from workers.
var settings = []attribute{
	{Attribute: awsx.Attribute{Name: "PolicyDocument", Desired: "full access: the API server authorizes requests", Repair: modify + " with ResetPolicy"},
		Diff: func(_ Spec, got Endpoint, change *ec2.ModifyVpcEndpointInput) {
			if !isFullAccess(got.Policy) {
				change.ResetPolicy = aws.Bool(true)
			}
		}},
	{Attribute: awsx.Attribute{Name: "PrivateDnsEnabled", Desired: "false: the records of the hosted zone lead to the endpoint", Repair: modify},
		Diff: func(_ Spec, got Endpoint, change *ec2.ModifyVpcEndpointInput) {
			if got.PrivateDNS {
				change.PrivateDnsEnabled = aws.Bool(false)
			}
		}},
	{Attribute: awsx.Attribute{Name: "IpAddressType", Desired: "ipv4", Repair: modify},
		Diff: func(_ Spec, got Endpoint, change *ec2.ModifyVpcEndpointInput) {
			if got.IPAddressType != "" && got.IPAddressType != string(types.IpAddressTypeIpv4) {
				change.IpAddressType = types.IpAddressTypeIpv4
			}
		}},
}

// others are repaired without ModifyVpcEndpoint, or not compared.
var others = []awsx.Attribute{
	{Name: "ServiceName", Desired: "the endpoint service of the control plane", Repair: "a new endpoint, after the deletion of this one"},
	{Name: "State", Desired: "not rejected, failed or expired", Repair: "a new endpoint, after the deletion of this one"},
	{Name: "Tags", Desired: "owner, role, name, cluster, and the resource tags of the HostedCluster; tags of others stay", Repair: "CreateTags, DeleteTags"},
	{Name: "VpcId", Reason: "cannot change; endpoints are listed by VPC and owner"},
	{Name: "VpcEndpointId", Reason: "cannot change"},
	{Name: "VpcEndpointType", Reason: "cannot change"},
	{Name: "ServiceRegion", Reason: "cannot change"},
	{Name: "OwnerId", Reason: "cannot change"},
	{Name: "CreationTimestamp", Reason: "cannot change"},
	{Name: "RequesterManaged", Reason: "cannot change"},
	{Name: "DnsOptions", Reason: "has no effect without private DNS, except for the type of the records, which follows IpAddressType"},
	{Name: "DnsEntries", Reason: "set by AWS; read for the target of the records"},
	{Name: "NetworkInterfaceIds", Reason: "set by AWS; follow SubnetIds"},
	{Name: "Ipv4Prefixes", Reason: "set by AWS; follow SubnetIds"},
	{Name: "Ipv6Prefixes", Reason: "set by AWS; follow SubnetIds"},
	{Name: "LastError", Reason: "set by AWS; reported in the condition"},
	{Name: "FailureReason", Reason: "set by AWS"},
	{Name: "PayerResponsibilities", Reason: "billing of the endpoint service's owner"},
	{Name: "RouteTableIds", Reason: "of gateway endpoints alone"},
	{Name: "ResourceConfigurationArn", Reason: "of resource endpoints alone"},
	{Name: "ServiceNetworkArn", Reason: "of service network endpoints alone"},
}

// Attributes returns all attributes of an endpoint, those that are compared first.
func Attributes() []awsx.Attribute {
	return append(awsx.Attributes(connectivity, settings), others...)
}

// isFullAccess is true for the policy that AWS gives an endpoint by default. Its
// exact text is not documented, so it is compared by meaning.
func isFullAccess(policy string) bool {
	if policy == "" {
		return true
	}
	var document struct {
		Statement []struct {
			Effect                      string
			Action, Resource, Principal any
			NotAction, NotResource      any
			NotPrincipal, Condition     any
		}
	}
	if err := json.Unmarshal([]byte(policy), &document); err != nil || len(document.Statement) != 1 {
		return false
	}
	s := document.Statement[0]
	if principal, ok := s.Principal.(map[string]any); ok && len(principal) == 1 {
		s.Principal = principal["AWS"]
	}
	return s.Effect == "Allow" && isAny(s.Action) && isAny(s.Resource) && isAny(s.Principal) &&
		s.NotAction == nil && s.NotResource == nil && s.NotPrincipal == nil && s.Condition == nil
}

func isAny(value any) bool {
	if list, ok := value.([]any); ok && len(list) == 1 {
		value = list[0]
	}
	return value == "*"
}

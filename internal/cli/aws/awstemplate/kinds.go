package awstemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// kind describes the nodes of a kind in both languages.
type kind struct {
	// Types of CloudFormation and Terraform. Without a type, the language has no such resource.
	cloudFormation, terraform string
	// partOf is another kind of node. Its resource contains the properties of this kind.
	partOf string
	// attribute contains the id of the resource in CloudFormation (empty: Ref returns it), and argument in Terraform.
	attribute, argument string
	// idOf: in CloudFormation, the id of the node is the id of the resource of this kind that it depends on.
	idOf      string
	translate func(*translation)
	// lookup is the parameter of CloudFormation, and the data source of Terraform, of a node that is only looked up.
	lookup func(*rg.Node) lookup
}

type lookup struct {
	parameter       Parameter
	parameterType   string
	source          string
	sourceArguments map[string]any
}

// translations returns the kinds by resourcegraph.Node.Kind.
func translations() map[string]kind {
	all := map[string]kind{}
	for _, some := range []map[string]kind{networkKinds(), routeKinds(), instanceKinds(), zoneKinds(), identityKinds()} {
		maps.Copy(all, some)
	}
	return all
}

// networkKinds are the kinds of a VPC and its subnets.
func networkKinds() map[string]kind {
	return map[string]kind{
		"VPC": {cloudFormation: "AWS::EC2::VPC", terraform: "aws_vpc", argument: "id", translate: func(t *translation) {
			t.set("CidrBlock", "cidr_block", t.take("cidr"))
			t.setTags("Tags")
		}},
		"VPC attribute": {partOf: "VPC", translate: func(t *translation) {
			names := map[string][2]string{
				"enableDnsSupport":   {"EnableDnsSupport", "enable_dns_support"},
				"enableDnsHostnames": {"EnableDnsHostnames", "enable_dns_hostnames"},
			}[t.Name]
			if names[0] == "" {
				t.fail("the VPC attribute %s has no translation", t.Name)
			}
			t.set(names[0], names[1], t.take("value") == "true")
		}},
		"DHCP options": {cloudFormation: "AWS::EC2::DHCPOptions", terraform: "aws_vpc_dhcp_options", argument: "id", translate: func(t *translation) {
			t.set("DomainName", "domain_name", t.take("domain-name"))
			t.set("DomainNameServers", "domain_name_servers", strings.Split(t.take("domain-name-servers"), ","))
			t.setTags("Tags")
		}},
		"Association of the DHCP options": {
			cloudFormation: "AWS::EC2::VPCDHCPOptionsAssociation", terraform: "aws_vpc_dhcp_options_association", argument: "id",
			translate: func(t *translation) {
				t.set("VpcId", "vpc_id", ID(t.related("VPC")))
				t.set("DhcpOptionsId", "dhcp_options_id", t.take("options"))
			},
		},
		"Internet gateway": {cloudFormation: "AWS::EC2::InternetGateway", terraform: "aws_internet_gateway", argument: "id", translate: func(t *translation) {
			t.setTags("Tags")
		}},
		"Attachment of the internet gateway": {
			cloudFormation: "AWS::EC2::VPCGatewayAttachment", idOf: "Internet gateway",
			terraform: "aws_internet_gateway_attachment", argument: "internet_gateway_id",
			translate: func(t *translation) {
				t.set("VpcId", "vpc_id", t.take("vpc"))
				t.set("InternetGatewayId", "internet_gateway_id", ID(t.related("Internet gateway")))
			},
		},
		"Subnet": {cloudFormation: "AWS::EC2::Subnet", terraform: "aws_subnet", argument: "id", translate: func(t *translation) {
			t.set("VpcId", "vpc_id", t.take("vpc"))
			t.set("CidrBlock", "cidr_block", t.take("cidr"))
			t.set("AvailabilityZone", "availability_zone", t.take("zone"))
			t.setTags("Tags")
		}},
		"Elastic IP address": {
			cloudFormation: "AWS::EC2::EIP", attribute: "AllocationId", terraform: "aws_eip", argument: "id", translate: func(t *translation) {
				t.set("Domain", "domain", "vpc")
				t.setTags("Tags")
			},
		},
		"NAT gateway": {cloudFormation: "AWS::EC2::NatGateway", terraform: "aws_nat_gateway", argument: "id", translate: func(t *translation) {
			t.set("SubnetId", "subnet_id", t.take("subnet"))
			t.set("AllocationId", "allocation_id", t.take("address"))
			t.setTags("Tags")
		}},
	}
}

// routeKinds are the kinds of routes and gateway endpoints.
func routeKinds() map[string]kind {
	return map[string]kind{
		"Route table": {cloudFormation: "AWS::EC2::RouteTable", terraform: "aws_route_table", argument: "id", translate: func(t *translation) {
			t.set("VpcId", "vpc_id", t.take("vpc"))
			t.setTags("Tags")
		}},
		"Route": {cloudFormation: "AWS::EC2::Route", terraform: "aws_route", argument: "id", translate: func(t *translation) {
			t.set("RouteTableId", "route_table_id", ID(t.related("Route table")))
			t.set("DestinationCidrBlock", "destination_cidr_block", t.Name)
			target := t.take("target")
			switch kind := t.kindOf(target); kind {
			case "NAT gateway":
				t.set("NatGatewayId", "nat_gateway_id", target)
			case "Attachment of the internet gateway":
				t.set("GatewayId", "gateway_id", target)
			default:
				t.fail("a route to %q has no translation", kind)
			}
		}},
		"Association with": {
			cloudFormation: "AWS::EC2::SubnetRouteTableAssociation", terraform: "aws_route_table_association", argument: "id",
			translate: func(t *translation) {
				t.set("RouteTableId", "route_table_id", t.take("table"))
				t.set("SubnetId", "subnet_id", ID(t.related("Subnet")))
			},
		},
		"Main route table of the VPC": {terraform: "aws_main_route_table_association", argument: "id", translate: func(t *translation) {
			t.set("", "vpc_id", ID(t.related("VPC")))
			t.set("", "route_table_id", ID(t.related("Route table")))
			// A command could do it, but CloudFormation could not delete the table afterwards.
			t.gap("", "CloudFormation has no resource for it. Only subnets that you add without a route table of their own use it: they have no way to the internet", "")
		}},
		"Gateway endpoint": {cloudFormation: "AWS::EC2::VPCEndpoint", terraform: "aws_vpc_endpoint", argument: "id", translate: func(t *translation) {
			t.set("VpcEndpointType", "vpc_endpoint_type", "Gateway")
			t.set("ServiceName", "service_name", t.Name)
			t.set("VpcId", "vpc_id", t.take("vpc"))
			t.set("RouteTableIds", "route_table_ids", strings.Split(t.take("route-tables"), ","))
			t.setTags("Tags")
		}},
	}
}

// instanceKinds are the kinds of an instance.
func instanceKinds() map[string]kind {
	return map[string]kind{
		"Security group": {
			cloudFormation: "AWS::EC2::SecurityGroup", attribute: "GroupId", terraform: "aws_security_group", argument: "id",
			translate: func(t *translation) {
				t.set("GroupName", "name", t.Name)
				t.set("GroupDescription", "description", t.take("description"))
				t.set("VpcId", "vpc_id", t.take("vpc"))
				t.setTags("Tags")
				// Terraform deletes the rule that AWS creates.
				t.addTerraform(t.ID+"-egress", "aws_vpc_security_group_egress_rule", map[string]any{
					"security_group_id": ID(t.ID), "ip_protocol": "-1", "cidr_ipv4": "0.0.0.0/0",
				})
			},
		},
		"Ingress rules of": {
			cloudFormation: "AWS::EC2::SecurityGroupIngress", terraform: "aws_vpc_security_group_ingress_rule", argument: "id",
			translate: func(t *translation) {
				ingress := t.take("ingress")
				m := oneRule.FindStringSubmatch(ingress)
				if m == nil {
					t.fail("the rules %q have no translation", ingress)
					return
				}
				t.set("GroupId", "security_group_id", ID(t.related("Security group")))
				t.set("IpProtocol", "ip_protocol", m[1])
				t.set("FromPort", "from_port", t.number(m[2]))
				t.set("ToPort", "to_port", t.number(m[3]))
				t.set("CidrIp", "cidr_ipv4", m[4])
			},
		},
		// The name is the name of a Systems Manager parameter.
		"Image": {argument: "insecure_value", lookup: func(n *rg.Node) lookup {
			return lookup{
				parameter: Parameter{
					Name: logicalID(n.ID), Default: n.Name, Description: "Parameter of Systems Manager with the ID of the image",
				},
				parameterType: "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
				source:        "aws_ssm_parameter", sourceArguments: map[string]any{"name": n.Name},
			}
		}},
		"Instance": {cloudFormation: "AWS::EC2::Instance", terraform: "aws_instance", argument: "id", translate: translateInstance},
	}
}

// zoneKinds are the kinds of hosted zones.
func zoneKinds() map[string]kind {
	return map[string]kind{
		"Public hosted zone": {argument: "zone_id", lookup: func(n *rg.Node) lookup {
			return lookup{
				parameter: Parameter{
					Name: "PublicZoneID", Variable: "public_zone_id",
					Description: "ID of the public hosted zone of " + n.Name,
				},
				parameterType: "AWS::Route53::HostedZone::Id",
				source:        "aws_route53_zone", sourceArguments: map[string]any{"name": n.Name, "private_zone": false},
			}
		}},
		"Private hosted zone": {cloudFormation: "AWS::Route53::HostedZone", terraform: "aws_route53_zone", argument: "zone_id", translate: func(t *translation) {
			vpc := t.take("vpc")
			t.set("Name", "name", t.Name)
			t.set("VPCs", "", []any{map[string]any{"VPCId": vpc, "VPCRegion": t.Region}})
			t.set("", "vpc", []any{map[string]any{"vpc_id": vpc, "vpc_region": t.Region}})
			// Terraform writes a comment of its own otherwise.
			t.set("", "comment", "")
		}},
		"Tags": {partOf: "Private hosted zone", translate: func(t *translation) { t.setTags("HostedZoneTags") }},
		"SOA record": {terraform: "aws_route53_record", argument: "id", translate: func(t *translation) {
			zone, ttl := t.related("Private hosted zone"), t.take("minimum-ttl")
			t.set("", "zone_id", ID(zone))
			t.set("", "name", t.nodes[zone].Name)
			t.set("", "type", "SOA")
			t.set("", "ttl", 900)
			t.set("", "allow_overwrite", true)
			// All but the last field keep AWS's values.
			t.set("", "records", []any{expression(fmt.Sprintf(
				`${trimsuffix(%s.primary_name_server, ".")}. awsdns-hostmaster.amazon.com. 1 7200 900 1209600 %s`, t.terraformAddress(zone), ttl))})
			t.gap("of "+t.nodes[zone].Name, "CloudFormation cannot change the record that AWS creates. Without it, resolvers remember for 15 minutes that a name does not exist yet",
				"aws route53 change-resource-record-sets --hosted-zone-id "+ID(zone)+` --change-batch "$(aws route53 list-resource-record-sets --hosted-zone-id `+ID(zone)+
					` --query "{Changes:[{Action:'UPSERT',ResourceRecordSet:ResourceRecordSets[?Type=='SOA']|[0]}]}" --output json | sed -E 's/ [0-9]+"/ `+ttl+`"/')"`)
		}},
	}
}

// identityKinds are the kinds of IAM.
func identityKinds() map[string]kind {
	return map[string]kind{
		"OIDC provider": {
			cloudFormation: "AWS::IAM::OIDCProvider", terraform: "aws_iam_openid_connect_provider", argument: "arn",
			translate: func(t *translation) {
				t.set("Url", "url", "https://"+t.Name)
				t.set("ClientIdList", "client_id_list", t.takeAll("client "))
				t.set("ThumbprintList", "thumbprint_list", []string{t.take("thumbprint")})
				t.setTags("Tags")
			},
		},
		"Role": {cloudFormation: "AWS::IAM::Role", terraform: "aws_iam_role", argument: "name", translate: func(t *translation) {
			t.set("RoleName", "name", t.Name)
			t.setPolicy("AssumeRolePolicyDocument", "assume_role_policy", t.take("trust-policy"))
			t.setTags("Tags")
		}},
		"Policy": {cloudFormation: "AWS::IAM::RolePolicy", terraform: "aws_iam_role_policy", argument: "id", translate: func(t *translation) {
			role := ID(t.related("Role"))
			t.set("PolicyName", "name", t.Name)
			t.set("RoleName", "role", role)
			t.setPolicy("PolicyDocument", "policy", t.take("document"))
		}},
		"Instance profile": {cloudFormation: "AWS::IAM::InstanceProfile", terraform: "aws_iam_instance_profile", argument: "name", translate: func(t *translation) {
			t.set("InstanceProfileName", "name", t.Name)
			t.gap("tags", "CloudFormation has no tags for it. `destroy iam aws` does not delete it without them; the deletion of the stack does",
				"aws iam tag-instance-profile --instance-profile-name "+t.Name+" --tags "+t.tagArgument())
			t.setTerraformTags()
		}},
		"Role in the instance profile": {partOf: "Instance profile", translate: func(t *translation) {
			t.take("role")
			role := ID(t.related("Role"))
			t.set("Roles", "", []string{role})
			t.set("", "role", role)
		}},
	}
}

// expression is text in the template language of Terraform.
type expression string

// kindOf returns the kind of the node that a value refers to.
func (t *translation) kindOf(value string) string {
	if parts := parse(value); len(parts) == 1 && parts[0].kind == toNode && t.nodes[parts[0].name] != nil {
		return t.nodes[parts[0].name].Kind
	}
	return value
}

// setPolicy sets a policy: an object in CloudFormation, if no key of it has a reference, and text in Terraform.
func (t *translation) setPolicy(property, argument, policy string) {
	t.set("", argument, policy)
	var document map[string]any
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		t.fail("decoding its policy: %v", err)
		return
	}
	if keyHasReference(document) {
		t.set(property, "", policy)
		return
	}
	t.set(property, "", document)
}

func keyHasReference(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if strings.Contains(key, opening) || keyHasReference(item) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if keyHasReference(item) {
				return true
			}
		}
	}
	return false
}

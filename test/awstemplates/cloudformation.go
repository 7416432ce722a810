package awstemplates

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// template holds the known parts of a template.
type template struct {
	AWSTemplateFormatVersion string
	Description              string
	Parameters               map[string]struct {
		Type, Description string
		Default           *string
		MinLength         int
	}
	Rules map[string]struct {
		Assertions []struct {
			Assert            map[string][]any
			AssertDescription string
		}
	}
	Resources map[string]struct {
		Type       string
		Properties map[string]any
		DependsOn  []string
	}
	Outputs map[string]struct {
		Description string
		Value       any
	}
}

// stack is a template that is being created.
type stack struct {
	account
	template
	parameters map[string]string
	// created holds the results of Ref, and attributes the results of Fn::GetAtt.
	created    map[string]string
	attributes map[string]map[string]string
}

// CloudFormation creates the resources of a template, and returns its outputs.
func CloudFormation(ctx context.Context, cfg aws.Config, text []byte, parameters map[string]string) (outputs map[string]string, err error) {
	defer recovered(&err)
	var raw any
	check(json.Unmarshal(text, &raw))
	s := &stack{
		account: open(ctx, cfg), template: decode[template]("template", raw), parameters: map[string]string{},
		created: map[string]string{}, attributes: map[string]map[string]string{},
	}
	for name, p := range s.Parameters {
		value, given := parameters[name]
		switch {
		case given:
		case p.Default != nil:
			value = *p.Default
		default:
			fail("parameter %s has no value", name)
		}
		if len(value) < p.MinLength {
			fail("parameter %s has %d characters", name, len(value))
		}
		if p.Type == "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>" {
			value = publicImage(value)
		}
		s.parameters[name] = value
	}
	for name := range parameters {
		if _, ok := s.Parameters[name]; !ok {
			fail("the template has no parameter %s", name)
		}
	}
	s.checkRules()
	for len(s.created) < len(s.Resources) {
		var ready []string
		for _, name := range slices.Sorted(maps.Keys(s.Resources)) {
			if _, done := s.created[name]; !done && s.ready(name) {
				ready = append(ready, name)
			}
		}
		if len(ready) == 0 {
			fail("the resources of the template depend on each other")
		}
		s.create(ready[rand.IntN(len(ready))])
	}
	outputs = map[string]string{}
	for name, o := range s.Outputs {
		value, ok := s.evaluate(o.Value).(string)
		if !ok {
			fail("output %s is not text", name)
		}
		outputs[name] = value
	}
	return outputs, nil
}

func (s *stack) checkRules() {
	for _, rule := range s.Rules {
		for _, a := range rule.Assertions {
			operands := a.Assert["Fn::Equals"]
			if len(operands) != 2 || len(a.Assert) != 1 {
				fail("rule %v is not known", a.Assert)
			}
			if s.evaluate(operands[0]) != s.evaluate(operands[1]) {
				fail("rule: %s", a.AssertDescription)
			}
		}
	}
}

// ready is true if everything that the resource depends on is created.
func (s *stack) ready(name string) bool {
	needs := slices.Clone(s.Resources[name].DependsOn)
	s.walk(s.Resources[name].Properties, func(other string) { needs = append(needs, other) })
	for _, other := range needs {
		if _, ok := s.Resources[other]; !ok {
			fail("%s depends on %s, which is not in the template", name, other)
		}
		if _, ok := s.created[other]; !ok {
			return false
		}
	}
	return true
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// walk calls f for each resource that a value refers to.
func (s *stack) walk(value any, f func(string)) {
	visit := func(name string) {
		if _, ok := s.Parameters[name]; !ok && !strings.HasPrefix(name, "AWS::") {
			f(name)
		}
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			s.walk(item, f)
		}
	case map[string]any:
		for key, item := range v {
			switch key {
			case "Ref":
				visit(item.(string))
			case "Fn::GetAtt":
				visit(item.([]any)[0].(string))
			case "Fn::Sub":
				for _, m := range variable.FindAllStringSubmatch(item.(string), -1) {
					if !strings.HasPrefix(m[1], "!") {
						name, _, _ := strings.Cut(m[1], ".")
						visit(name)
					}
				}
			default:
				s.walk(item, f)
			}
		}
	}
}

// evaluate returns a value without intrinsic functions.
func (s *stack) evaluate(value any) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = s.evaluate(v[i])
		}
		return list
	case map[string]any:
		for key, item := range v {
			if key != "Ref" && !strings.HasPrefix(key, "Fn::") {
				continue
			}
			if len(v) != 1 {
				fail("%v has a function and other keys", v)
			}
			return s.call(key, item)
		}
		all := map[string]any{}
		for key, item := range v {
			all[key] = s.evaluate(item)
		}
		return all
	}
	return value
}

func (s *stack) call(function string, argument any) string {
	switch function {
	case "Ref":
		return s.ref(argument.(string))
	case "Fn::GetAtt":
		list := argument.([]any)
		return s.attribute(list[0].(string), list[1].(string))
	case "Fn::Base64":
		return base64.StdEncoding.EncodeToString([]byte(s.evaluate(argument).(string)))
	case "Fn::Join":
		list := argument.([]any)
		var items []string
		for _, item := range s.evaluate(list[1]).([]any) {
			items = append(items, item.(string))
		}
		return strings.Join(items, list[0].(string))
	case "Fn::Sub":
		return variable.ReplaceAllStringFunc(argument.(string), func(m string) string {
			name := m[2 : len(m)-1]
			if literal, ok := strings.CutPrefix(name, "!"); ok {
				return "${" + literal + "}"
			}
			if resource, attribute, ok := strings.Cut(name, "."); ok {
				return s.attribute(resource, attribute)
			}
			return s.ref(name)
		})
	}
	fail("the function %s is not known", function)
	return ""
}

func (s *stack) ref(name string) string {
	switch name {
	case "AWS::AccountId":
		return s.id
	case "AWS::Partition":
		return "aws"
	case "AWS::Region":
		return s.region
	}
	if value, ok := s.parameters[name]; ok {
		return value
	}
	value, ok := s.created[name]
	if !ok || value == "" {
		fail("Ref %s returns nothing", name)
	}
	return value
}

func (s *stack) attribute(name, attribute string) string {
	value, ok := s.attributes[name][attribute]
	if !ok {
		fail("%s has no attribute %s", name, attribute)
	}
	return value
}

type tagList []struct{ Key, Value string }

func (l tagList) tags() tags {
	t := tags{}
	for _, tag := range l {
		if _, twice := t[tag.Key]; twice {
			fail("the tag %s is there twice", tag.Key)
		}
		t[tag.Key] = tag.Value
	}
	return t
}

// policy is text or an object.
func policy(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// create creates a resource.
func (s *stack) create(name string) {
	r := s.Resources[name]
	properties := s.evaluate(r.Properties)
	where := fmt.Sprintf("resource %s of type %s", name, r.Type)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			fail("%s: %w", where, r.err)
		default:
			panic(r)
		}
	}()
	s.created[name] = "" // Ref returns no value of most types
	switch r.Type {
	case "AWS::EC2::VPC":
		p := decode[struct {
			CidrBlock                            string
			EnableDnsSupport, EnableDnsHostnames bool
			Tags                                 tagList
		}](where, properties)
		s.created[name] = s.vpc(p.CidrBlock, p.EnableDnsSupport, p.EnableDnsHostnames, p.Tags.tags())
	case "AWS::EC2::DHCPOptions":
		p := decode[struct {
			DomainName        string
			DomainNameServers []string
			Tags              tagList
		}](where, properties)
		s.created[name] = s.dhcpOptions(p.DomainName, p.DomainNameServers, p.Tags.tags())
	case "AWS::EC2::VPCDHCPOptionsAssociation":
		p := decode[struct{ VpcId, DhcpOptionsId string }](where, properties)
		s.associateDHCPOptions(p.VpcId, p.DhcpOptionsId)
	case "AWS::EC2::InternetGateway":
		p := decode[struct{ Tags tagList }](where, properties)
		s.created[name] = s.internetGateway(p.Tags.tags())
	case "AWS::EC2::VPCGatewayAttachment":
		p := decode[struct{ VpcId, InternetGatewayId string }](where, properties)
		s.attach(p.InternetGatewayId, p.VpcId)
	case "AWS::EC2::Subnet":
		p := decode[struct {
			VpcId, CidrBlock, AvailabilityZone string
			Tags                               tagList
		}](where, properties)
		s.created[name] = s.subnet(p.VpcId, p.CidrBlock, p.AvailabilityZone, p.Tags.tags())
	case "AWS::EC2::EIP":
		p := decode[struct {
			Domain string
			Tags   tagList
		}](where, properties)
		s.created[name] = "192.0.2.1" // Ref returns the address
		s.attributes[name] = map[string]string{"AllocationId": s.address(p.Domain, p.Tags.tags())}
	case "AWS::EC2::NatGateway":
		p := decode[struct {
			SubnetId, AllocationId string
			Tags                   tagList
		}](where, properties)
		s.created[name] = s.natGateway(p.SubnetId, p.AllocationId, p.Tags.tags())
	case "AWS::EC2::RouteTable":
		p := decode[struct {
			VpcId string
			Tags  tagList
		}](where, properties)
		s.created[name] = s.routeTable(p.VpcId, p.Tags.tags())
	case "AWS::EC2::Route":
		p := decode[struct{ RouteTableId, DestinationCidrBlock, GatewayId, NatGatewayId string }](where, properties)
		s.route(p.RouteTableId, p.DestinationCidrBlock, p.GatewayId, p.NatGatewayId)
	case "AWS::EC2::SubnetRouteTableAssociation":
		p := decode[struct{ RouteTableId, SubnetId string }](where, properties)
		s.created[name] = s.associateTable(p.RouteTableId, p.SubnetId)
	case "AWS::EC2::SecurityGroup":
		p := decode[struct {
			GroupName, GroupDescription, VpcId string
			Tags                               tagList
		}](where, properties)
		group := s.securityGroup(p.GroupName, p.GroupDescription, p.VpcId, p.Tags.tags())
		s.created[name] = group
		s.attributes[name] = map[string]string{"GroupId": group}
	case "AWS::EC2::SecurityGroupIngress":
		p := decode[struct {
			GroupId, IpProtocol, CidrIp string
			FromPort, ToPort            *int32
		}](where, properties)
		s.ingress(p.GroupId, permission(p.IpProtocol, p.FromPort, p.ToPort, p.CidrIp))
	case "AWS::EC2::Instance":
		s.created[name] = s.instance(where, properties)
	case "AWS::EC2::VPCEndpoint":
		p := decode[struct {
			VpcId, ServiceName, VpcEndpointType string
			RouteTableIds                       []string
			Tags                                tagList
		}](where, properties)
		if p.VpcEndpointType != "Gateway" {
			fail("endpoint of type %s", p.VpcEndpointType)
		}
		s.created[name] = s.gatewayEndpoint(p.VpcId, p.ServiceName, p.RouteTableIds, p.Tags.tags())
	case "AWS::Route53::HostedZone":
		p := decode[struct {
			Name           string
			VPCs           []struct{ VPCId, VPCRegion string }
			HostedZoneTags tagList
		}](where, properties)
		if len(p.VPCs) != 1 {
			fail("a zone with %d VPCs", len(p.VPCs))
		}
		s.created[name] = s.privateZone(p.Name, p.VPCs[0].VPCId, p.VPCs[0].VPCRegion, "", p.HostedZoneTags.tags())
	case "AWS::IAM::OIDCProvider":
		p := decode[struct {
			Url                          string
			ClientIdList, ThumbprintList []string
			Tags                         tagList
		}](where, properties)
		s.created[name] = s.oidcProvider(p.Url, p.ClientIdList, p.ThumbprintList, p.Tags.tags())
	case "AWS::IAM::Role":
		p := decode[struct {
			RoleName                 string
			AssumeRolePolicyDocument json.RawMessage
			Tags                     tagList
		}](where, properties)
		s.role(p.RoleName, policy(p.AssumeRolePolicyDocument), p.Tags.tags())
		s.created[name] = p.RoleName
	case "AWS::IAM::RolePolicy":
		p := decode[struct {
			PolicyName, RoleName string
			PolicyDocument       json.RawMessage
		}](where, properties)
		s.rolePolicy(p.RoleName, p.PolicyName, policy(p.PolicyDocument))
	case "AWS::IAM::InstanceProfile":
		p := decode[struct {
			InstanceProfileName string
			Roles               []string
		}](where, properties)
		if len(p.Roles) != 1 {
			fail("a profile with %d roles", len(p.Roles))
		}
		s.instanceProfile(p.InstanceProfileName, p.Roles[0], nil)
		s.created[name] = p.InstanceProfileName
	default:
		fail("the type is not known")
	}
}

// instance launches an instance. CloudFormation tags its volumes on request, and never its network interfaces.
func (s *stack) instance(where string, properties any) string {
	p := decode[struct {
		ImageId, InstanceType, UserData string
		MetadataOptions                 *struct {
			HttpEndpoint, HttpTokens string
			HttpPutResponseHopLimit  int32
		}
		NetworkInterfaces []struct {
			DeviceIndex, SubnetId, PrivateIpAddress       string
			GroupSet                                      []string
			AssociatePublicIpAddress, DeleteOnTermination bool
		}
		BlockDeviceMappings []struct {
			DeviceName string
			Ebs        struct {
				DeleteOnTermination, Encrypted bool
				VolumeSize                     int32
				VolumeType                     string
			}
		}
		PropagateTagsToVolumeOnCreation bool
		Tags                            tagList
	}](where, properties)
	if len(p.NetworkInterfaces) != 1 || p.NetworkInterfaces[0].DeviceIndex != "0" || len(p.BlockDeviceMappings) != 1 || p.MetadataOptions == nil {
		fail("an instance with %d network interfaces and %d volumes", len(p.NetworkInterfaces), len(p.BlockDeviceMappings))
	}
	net, device := p.NetworkInterfaces[0], p.BlockDeviceMappings[0]
	tagged := map[ec2types.ResourceType]tags{ec2types.ResourceTypeInstance: p.Tags.tags()}
	if p.PropagateTagsToVolumeOnCreation {
		tagged[ec2types.ResourceTypeVolume] = p.Tags.tags()
	}
	id, _ := s.launch(&ec2.RunInstancesInput{
		ImageId: aws.String(p.ImageId), InstanceType: ec2types.InstanceType(p.InstanceType), UserData: aws.String(p.UserData),
		MetadataOptions: &ec2types.InstanceMetadataOptionsRequest{
			HttpEndpoint: ec2types.InstanceMetadataEndpointState(p.MetadataOptions.HttpEndpoint), HttpTokens: ec2types.HttpTokensState(p.MetadataOptions.HttpTokens),
			HttpPutResponseHopLimit: aws.Int32(p.MetadataOptions.HttpPutResponseHopLimit),
		},
		NetworkInterfaces: []ec2types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(net.SubnetId), PrivateIpAddress: aws.String(net.PrivateIpAddress), Groups: net.GroupSet,
			AssociatePublicIpAddress: aws.Bool(net.AssociatePublicIpAddress), DeleteOnTermination: aws.Bool(net.DeleteOnTermination),
		}},
		BlockDeviceMappings: []ec2types.BlockDeviceMapping{{DeviceName: aws.String(device.DeviceName), Ebs: &ec2types.EbsBlockDevice{
			DeleteOnTermination: aws.Bool(device.Ebs.DeleteOnTermination), Encrypted: aws.Bool(device.Ebs.Encrypted),
			VolumeSize: aws.Int32(device.Ebs.VolumeSize), VolumeType: ec2types.VolumeType(device.Ebs.VolumeType),
		}}},
	}, tagged)
	return id
}

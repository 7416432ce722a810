package awstemplates

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// module holds the known parts of a module with one file.
type module struct {
	Terraform struct {
		RequiredVersion   string                                      `json:"required_version"`
		RequiredProviders map[string]struct{ Source, Version string } `json:"required_providers"`
	} `json:"terraform"`
	Variable map[string]struct {
		Type, Description string
		Default           *string
	} `json:"variable"`
	Data     map[string]map[string]map[string]any `json:"data"`
	Resource map[string]map[string]map[string]any `json:"resource"`
	Output   map[string]struct {
		Description string
		Value       any
	} `json:"output"`
}

// run is a module that is being applied.
type run struct {
	account
	module
	// known has attributes by address: var.name, data.type.name, type.name.
	known map[string]map[string]string
}

// Terraform creates the resources of a module, and returns its outputs.
func Terraform(ctx context.Context, cfg aws.Config, text []byte, variables map[string]string) (outputs map[string]any, err error) {
	defer recovered(&err)
	var raw any
	check(json.Unmarshal(text, &raw))
	r := &run{account: open(ctx, cfg), module: decode[module]("module", raw), known: map[string]map[string]string{"var": {}}}
	for name, v := range r.Variable {
		value, given := variables[name]
		switch {
		case given:
			r.known["var"][name] = value
		case v.Default != nil:
			r.known["var"][name] = *v.Default
		default:
			fail("variable %s has no value", name)
		}
	}
	for kind, sources := range r.Data {
		for name, arguments := range sources {
			r.read(kind, name, arguments)
		}
	}
	for {
		var ready []string
		left := 0
		for kind, resources := range r.Resource {
			for name := range resources {
				address := kind + "." + name
				if r.known[address] == nil {
					left++
					if r.ready(kind, name) {
						ready = append(ready, address)
					}
				}
			}
		}
		if left == 0 {
			break
		}
		if len(ready) == 0 {
			fail("the resources of the module depend on each other")
		}
		slices.Sort(ready)
		kind, name, _ := strings.Cut(ready[rand.IntN(len(ready))], ".")
		r.create(kind, name)
	}
	outputs = map[string]any{}
	for name, o := range r.Output {
		outputs[name] = r.evaluate(o.Value)
	}
	return outputs, nil
}

var (
	// interpolation is a sequence with an expression, or its escaped form.
	interpolation = regexp.MustCompile(`\$?\$\{[^}]*\}`)
	trimSuffix    = regexp.MustCompile(`^trimsuffix\(([a-z0-9_.]+), "([^"]*)"\)$`)
	traversal     = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)+$`)
	regionIs      = regexp.MustCompile(`^\$\{self\.id == "([^"]*)"\}$`)
)

// traversalIn returns the reference of an expression.
func traversalIn(expression string) string {
	if m := trimSuffix.FindStringSubmatch(expression); m != nil {
		return m[1]
	}
	if !traversal.MatchString(expression) {
		fail("the expression %q is not known", expression)
	}
	return expression
}

// ready is true if everything that the resource depends on exists.
func (r *run) ready(kind, name string) bool {
	ready := true
	need := func(address string) {
		other, resource, _ := strings.Cut(address, ".")
		if _, ok := r.Resource[other][resource]; !ok {
			fail("%s.%s depends on %s, which is not in the module", kind, name, address)
		}
		ready = ready && r.known[address] != nil
	}
	walk(r.Resource[kind][name], func(expression string) {
		reference := traversalIn(expression)
		if !strings.HasPrefix(reference, "var.") && !strings.HasPrefix(reference, "data.") && !strings.HasPrefix(reference, "each.") {
			need(reference[:strings.LastIndex(reference, ".")])
		}
	})
	if list, ok := r.Resource[kind][name]["depends_on"].([]any); ok {
		for _, address := range list {
			need(address.(string))
		}
	}
	return ready
}

// walk calls f for each expression in a value.
func walk(value any, f func(string)) {
	switch v := value.(type) {
	case string:
		for _, m := range interpolation.FindAllString(v, -1) {
			if !strings.HasPrefix(m, "$$") {
				f(m[2 : len(m)-1])
			}
		}
	case []any:
		for _, item := range v {
			walk(item, f)
		}
	case map[string]any:
		for _, item := range v {
			walk(item, f)
		}
	}
}

func (r *run) evaluate(value any) any {
	switch v := value.(type) {
	case string:
		text := interpolation.ReplaceAllStringFunc(v, func(m string) string {
			if strings.HasPrefix(m, "$$") {
				return m[1:]
			}
			expression := m[2 : len(m)-1]
			reference := traversalIn(expression)
			i := strings.LastIndex(reference, ".")
			result, ok := r.known[reference[:i]][reference[i+1:]]
			if !ok {
				fail("%s is not known", reference)
			}
			if t := trimSuffix.FindStringSubmatch(expression); t != nil {
				result = strings.TrimSuffix(result, t[2])
			}
			return result
		})
		return strings.ReplaceAll(text, "%%{", "%{")
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = r.evaluate(v[i])
		}
		return list
	case map[string]any:
		all := map[string]any{}
		for key, item := range v {
			all[key] = r.evaluate(item)
		}
		return all
	}
	return value
}

// read reads a data source.
func (r *run) read(kind, name string, arguments map[string]any) {
	address := "data." + kind + "." + name
	switch kind {
	case "aws_caller_identity":
		decode[struct{}](address, arguments)
		r.known[address] = map[string]string{"account_id": r.id}
	case "aws_partition":
		decode[struct{}](address, arguments)
		r.known[address] = map[string]string{"partition": "aws"}
	case "aws_region":
		p := decode[struct {
			Lifecycle struct {
				Postcondition struct {
					Condition    string `json:"condition"`
					ErrorMessage string `json:"error_message"`
				} `json:"postcondition"`
			} `json:"lifecycle"`
		}](address, arguments)
		m := regionIs.FindStringSubmatch(p.Lifecycle.Postcondition.Condition)
		if m == nil {
			fail("the condition %s is not known", p.Lifecycle.Postcondition.Condition)
		}
		if m[1] != r.region {
			fail("%s", p.Lifecycle.Postcondition.ErrorMessage)
		}
		r.known[address] = map[string]string{"id": r.region}
	case "aws_route53_zone":
		p := decode[struct {
			Name        string `json:"name"`
			PrivateZone bool   `json:"private_zone"`
		}](address, arguments)
		if p.PrivateZone {
			fail("%s looks for a private zone", address)
		}
		r.known[address] = map[string]string{"zone_id": r.publicZone(p.Name)}
	case "aws_ssm_parameter":
		p := decode[struct {
			Name string `json:"name"`
		}](address, arguments)
		r.known[address] = map[string]string{"insecure_value": publicImage(p.Name)}
	default:
		fail("the data source %s is not known", kind)
	}
}

// create creates a resource, or one for each item of its for_each.
func (r *run) create(kind, name string) {
	address := kind + "." + name
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			fail("%s: %w", address, r.err)
		default:
			panic(r)
		}
	}()
	arguments := maps.Clone(r.Resource[kind][name])
	delete(arguments, "depends_on")
	items, repeated := arguments["for_each"].(map[string]any)
	if !repeated {
		r.known[address] = r.createOne(kind, address, r.evaluate(arguments))
		return
	}
	delete(arguments, "for_each")
	for _, key := range slices.Sorted(maps.Keys(items)) {
		r.known["each"] = map[string]string{"key": key, "value": r.evaluate(items[key]).(string)}
		r.createOne(kind, address, r.evaluate(arguments))
	}
	delete(r.known, "each")
	r.known[address] = map[string]string{} // a reference does not have the key of for_each
}

// createOne creates a resource and returns its attributes.
func (r *run) createOne(kind, address string, value any) map[string]string {
	attributes := map[string]string{}
	id := func(v string) { attributes["id"] = v }
	switch kind {
	case "aws_vpc":
		p := decode[struct {
			CIDR      string `json:"cidr_block"`
			Support   bool   `json:"enable_dns_support"`
			Hostnames bool   `json:"enable_dns_hostnames"`
			Tags      tags   `json:"tags"`
		}](address, value)
		id(r.vpc(p.CIDR, p.Support, p.Hostnames, p.Tags))
	case "aws_vpc_dhcp_options":
		p := decode[struct {
			Domain  string   `json:"domain_name"`
			Servers []string `json:"domain_name_servers"`
			Tags    tags     `json:"tags"`
		}](address, value)
		id(r.dhcpOptions(p.Domain, p.Servers, p.Tags))
	case "aws_vpc_dhcp_options_association":
		p := decode[struct {
			VPC     string `json:"vpc_id"`
			Options string `json:"dhcp_options_id"`
		}](address, value)
		r.associateDHCPOptions(p.VPC, p.Options)
	case "aws_internet_gateway":
		p := decode[struct {
			Tags tags `json:"tags"`
		}](address, value)
		id(r.internetGateway(p.Tags))
	case "aws_internet_gateway_attachment":
		p := decode[struct {
			VPC     string `json:"vpc_id"`
			Gateway string `json:"internet_gateway_id"`
		}](address, value)
		r.attach(p.Gateway, p.VPC)
		attributes["internet_gateway_id"] = p.Gateway
	case "aws_subnet":
		p := decode[struct {
			VPC  string `json:"vpc_id"`
			CIDR string `json:"cidr_block"`
			Zone string `json:"availability_zone"`
			Tags tags   `json:"tags"`
		}](address, value)
		id(r.subnet(p.VPC, p.CIDR, p.Zone, p.Tags))
	case "aws_eip":
		p := decode[struct {
			Domain string `json:"domain"`
			Tags   tags   `json:"tags"`
		}](address, value)
		id(r.address(p.Domain, p.Tags))
	case "aws_nat_gateway":
		p := decode[struct {
			Subnet  string `json:"subnet_id"`
			Address string `json:"allocation_id"`
			Tags    tags   `json:"tags"`
		}](address, value)
		id(r.natGateway(p.Subnet, p.Address, p.Tags))
	case "aws_route_table":
		p := decode[struct {
			VPC  string `json:"vpc_id"`
			Tags tags   `json:"tags"`
		}](address, value)
		id(r.routeTable(p.VPC, p.Tags))
	case "aws_route":
		p := decode[struct {
			Table   string `json:"route_table_id"`
			CIDR    string `json:"destination_cidr_block"`
			Gateway string `json:"gateway_id"`
			NAT     string `json:"nat_gateway_id"`
		}](address, value)
		r.route(p.Table, p.CIDR, p.Gateway, p.NAT)
	case "aws_route_table_association":
		p := decode[struct {
			Table  string `json:"route_table_id"`
			Subnet string `json:"subnet_id"`
		}](address, value)
		id(r.associateTable(p.Table, p.Subnet))
	case "aws_security_group":
		p := decode[struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			VPC         string `json:"vpc_id"`
			Tags        tags   `json:"tags"`
		}](address, value)
		group := r.securityGroup(p.Name, p.Description, p.VPC, p.Tags)
		r.revokeEgress(group)
		id(group)
	case "aws_vpc_security_group_ingress_rule", "aws_vpc_security_group_egress_rule":
		p := decode[struct {
			Group    string `json:"security_group_id"`
			Protocol string `json:"ip_protocol"`
			CIDR     string `json:"cidr_ipv4"`
			From     *int32 `json:"from_port"`
			To       *int32 `json:"to_port"`
		}](address, value)
		authorize := r.ingress
		if kind == "aws_vpc_security_group_egress_rule" {
			authorize = r.egress
		}
		authorize(p.Group, permission(p.Protocol, p.From, p.To, p.CIDR))
	case "aws_instance":
		attributes["id"], attributes["primary_network_interface_id"] = r.instance(address, value)
	case "aws_ec2_tag":
		p := decode[struct {
			Resource string `json:"resource_id"`
			Key      string `json:"key"`
			Value    string `json:"value"`
		}](address, value)
		r.tag(p.Resource, p.Key, p.Value)
	case "aws_main_route_table_association":
		p := decode[struct {
			VPC   string `json:"vpc_id"`
			Table string `json:"route_table_id"`
		}](address, value)
		r.mainTable(p.VPC, p.Table)
	case "aws_vpc_endpoint":
		p := decode[struct {
			VPC     string   `json:"vpc_id"`
			Service string   `json:"service_name"`
			Type    string   `json:"vpc_endpoint_type"`
			Tables  []string `json:"route_table_ids"`
			Tags    tags     `json:"tags"`
		}](address, value)
		if p.Type != "Gateway" {
			fail("endpoint of type %s", p.Type)
		}
		id(r.gatewayEndpoint(p.VPC, p.Service, p.Tables, p.Tags))
	case "aws_route53_zone":
		p := decode[struct {
			Name    string `json:"name"`
			Comment string `json:"comment"`
			VPC     []struct {
				ID     string `json:"vpc_id"`
				Region string `json:"vpc_region"`
			} `json:"vpc"`
			Tags tags `json:"tags"`
		}](address, value)
		if len(p.VPC) != 1 {
			fail("a zone with %d VPCs", len(p.VPC))
		}
		zone := r.privateZone(p.Name, p.VPC[0].ID, p.VPC[0].Region, p.Comment, p.Tags)
		server, _, _ := strings.Cut(aws.ToString(r.soa(zone).ResourceRecords[0].Value), " ")
		attributes["zone_id"], attributes["primary_name_server"] = zone, server
	case "aws_route53_record":
		p := decode[struct {
			Zone      string   `json:"zone_id"`
			Name      string   `json:"name"`
			Type      string   `json:"type"`
			TTL       int64    `json:"ttl"`
			Records   []string `json:"records"`
			Overwrite bool     `json:"allow_overwrite"`
		}](address, value)
		if !p.Overwrite {
			fail("the record exists")
		}
		r.upsert(p.Zone, p.Name, p.Type, p.TTL, p.Records)
	case "aws_iam_openid_connect_provider":
		p := decode[struct {
			URL         string   `json:"url"`
			Clients     []string `json:"client_id_list"`
			Thumbprints []string `json:"thumbprint_list"`
			Tags        tags     `json:"tags"`
		}](address, value)
		attributes["arn"] = r.oidcProvider(p.URL, p.Clients, p.Thumbprints, p.Tags)
	case "aws_iam_role":
		p := decode[struct {
			Name  string `json:"name"`
			Trust string `json:"assume_role_policy"`
			Tags  tags   `json:"tags"`
		}](address, value)
		r.role(p.Name, p.Trust, p.Tags)
		attributes["name"] = p.Name
	case "aws_iam_role_policy":
		p := decode[struct {
			Name   string `json:"name"`
			Role   string `json:"role"`
			Policy string `json:"policy"`
		}](address, value)
		r.rolePolicy(p.Role, p.Name, p.Policy)
	case "aws_iam_instance_profile":
		p := decode[struct {
			Name string `json:"name"`
			Role string `json:"role"`
			Tags tags   `json:"tags"`
		}](address, value)
		r.instanceProfile(p.Name, p.Role, p.Tags)
		attributes["name"] = p.Name
	default:
		fail("the type is not known")
	}
	return attributes
}

// instance launches an instance. Terraform tags its volumes on request, and not its network interface.
func (r *run) instance(address string, value any) (id, networkInterface string) {
	p := decode[struct {
		AMI      string `json:"ami"`
		Type     string `json:"instance_type"`
		Metadata *struct {
			Endpoint string `json:"http_endpoint"`
			Tokens   string `json:"http_tokens"`
			Hops     int32  `json:"http_put_response_hop_limit"`
		} `json:"metadata_options"`
		Subnet  string   `json:"subnet_id"`
		Groups  []string `json:"vpc_security_group_ids"`
		Address string   `json:"private_ip"`
		Public  bool     `json:"associate_public_ip_address"`
		Volume  *struct {
			Delete    bool   `json:"delete_on_termination"`
			Encrypted bool   `json:"encrypted"`
			Size      int32  `json:"volume_size"`
			Type      string `json:"volume_type"`
		} `json:"root_block_device"`
		UserData   string `json:"user_data"`
		Tags       tags   `json:"tags"`
		VolumeTags tags   `json:"volume_tags"`
		Lifecycle  struct {
			IgnoreChanges []string `json:"ignore_changes"`
		} `json:"lifecycle"`
	}](address, value)
	if p.Metadata == nil || p.Volume == nil {
		fail("an instance with the defaults of its metadata or of its volume")
	}
	return r.launch(&ec2.RunInstancesInput{
		ImageId: aws.String(p.AMI), InstanceType: ec2types.InstanceType(p.Type), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(p.UserData))),
		MetadataOptions: &ec2types.InstanceMetadataOptionsRequest{
			HttpEndpoint: ec2types.InstanceMetadataEndpointState(p.Metadata.Endpoint), HttpTokens: ec2types.HttpTokensState(p.Metadata.Tokens),
			HttpPutResponseHopLimit: aws.Int32(p.Metadata.Hops),
		},
		NetworkInterfaces: []ec2types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(p.Subnet), PrivateIpAddress: aws.String(p.Address), Groups: p.Groups,
			AssociatePublicIpAddress: aws.Bool(p.Public), DeleteOnTermination: aws.Bool(true),
		}},
		// The device is the image's device.
		BlockDeviceMappings: []ec2types.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), Ebs: &ec2types.EbsBlockDevice{
			DeleteOnTermination: aws.Bool(p.Volume.Delete), Encrypted: aws.Bool(p.Volume.Encrypted), VolumeSize: aws.Int32(p.Volume.Size),
			VolumeType: ec2types.VolumeType(p.Volume.Type),
		}}},
	}, map[ec2types.ResourceType]tags{ec2types.ResourceTypeInstance: p.Tags, ec2types.ResourceTypeVolume: p.VolumeTags})
}

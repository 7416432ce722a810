package awscontract

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// service makes an endpoint service on the first load balancer that lets the
// consumer in.
func (r *run) service(acceptance bool) (id, name string) {
	out, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, r.serviceOn(acceptance, r.balancer))
	r.ok("CreateVpcEndpointServiceConfiguration", err)
	id, name = *out.ServiceConfiguration.ServiceId, *out.ServiceConfiguration.ServiceName
	r.later(func() { r.dropService(id) })
	_, err = r.provider.ec2.ModifyVpcEndpointServicePermissions(r.ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: &id, AddAllowedPrincipals: []string{r.principal}})
	r.ok("ModifyVpcEndpointServicePermissions", err)
	return id, name
}

func (r *run) serviceOn(acceptance bool, on ...loadBalancer) *ec2.CreateVpcEndpointServiceConfigurationInput {
	in := &ec2.CreateVpcEndpointServiceConfigurationInput{AcceptanceRequired: &acceptance, TagSpecifications: spec(types.ResourceTypeVpcEndpointService, "contract", "service")}
	for _, lb := range on {
		in.NetworkLoadBalancerArns = append(in.NetworkLoadBalancerArns, lb.arn)
	}
	return in
}

// dropService deletes a service when its endpoints let it.
func (r *run) dropService(id string) {
	r.wait(r.ctx, func() bool {
		out, err := r.provider.ec2.DeleteVpcEndpointServiceConfigurations(r.ctx, &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
		return err != nil || len(out.Unsuccessful) == 0 || aws.ToString(out.Unsuccessful[0].Error.Code) == "InvalidVpcEndpointService.NotFound"
	})
}

func (r *run) described(id string) types.ServiceConfiguration {
	out, err := r.provider.ec2.DescribeVpcEndpointServiceConfigurations(r.ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
	r.ok("DescribeVpcEndpointServiceConfigurations", err)
	return out.ServiceConfigurations[0]
}

func codes(items []types.UnsuccessfulItem) []string {
	var out []string
	for _, i := range items {
		out = append(out, aws.ToString(i.Error.Code))
	}
	return out
}

var balancerCases = []contract{
	{name: "a load balancer is found by its name and by its ARN", steps: func(r *run) {
		for _, in := range []*elb.DescribeLoadBalancersInput{{Names: []string{r.balancer.name}}, {LoadBalancerArns: []string{r.balancer.arn}}} {
			out, err := r.provider.elb.DescribeLoadBalancers(r.ctx, in)
			r.ok("DescribeLoadBalancers", err)
			r.equal("load balancers", len(out.LoadBalancers), 1)
			r.equal("ARN", aws.ToString(out.LoadBalancers[0].LoadBalancerArn), r.balancer.arn)
			r.equal("state", string(out.LoadBalancers[0].State.Code), "active")
			r.equal("zones", len(out.LoadBalancers[0].AvailabilityZones), 2)
		}
	}},
	{name: "one unknown name fails the look-up of all load balancers", steps: func(r *run) {
		_, err := r.provider.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{Names: []string{r.balancer.name, "no-such"}})
		r.refused("DescribeLoadBalancers", err, "LoadBalancerNotFound")
	}},
	{name: "load balancers come in pages", steps: func(r *run) {
		pages := elb.NewDescribeLoadBalancersPaginator(r.provider.elb, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(1)})
		n := 0
		for pages.HasMorePages() {
			page, err := pages.NextPage(r.ctx)
			r.ok("DescribeLoadBalancers", err)
			r.equal("on one page", len(page.LoadBalancers) <= 1, true)
			n += len(page.LoadBalancers)
		}
		r.equal("at least two", n >= 2, true)
	}},
	{name: "a load balancer under an endpoint service cannot be deleted", steps: func(r *run) {
		// https://github.com/cloud-custodian/cloud-custodian/issues/9921
		r.service(false)
		_, err := r.provider.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: &r.balancer.arn})
		r.refused("DeleteLoadBalancer", err, "ResourceInUse")
	}},
}

var serviceCases = []contract{
	{name: "the private DNS name of a service can be removed", steps: func(r *run) {
		id, _ := r.service(false)
		modify := func(in *ec2.ModifyVpcEndpointServiceConfigurationInput) string {
			in.ServiceId = &id
			_, err := r.provider.ec2.ModifyVpcEndpointServiceConfiguration(r.ctx, in)
			r.ok("ModifyVpcEndpointServiceConfiguration", err)
			return aws.ToString(r.described(id).PrivateDnsName)
		}
		r.equal("at first", aws.ToString(r.described(id).PrivateDnsName), "")
		r.equal("set", modify(&ec2.ModifyVpcEndpointServiceConfigurationInput{PrivateDnsName: aws.String("api.example.com")}), "api.example.com")
		r.equal("removed", modify(&ec2.ModifyVpcEndpointServiceConfigurationInput{RemovePrivateDnsName: aws.Bool(true)}), "")
	}},
	{name: "a service has IPv4 alone, and cannot be without", steps: func(r *run) {
		id, _ := r.service(false)
		r.equal("IP address types", r.described(id).SupportedIpAddressTypes, []types.ServiceConnectivityType{types.ServiceConnectivityTypeIpv4})
		_, err := r.provider.ec2.ModifyVpcEndpointServiceConfiguration(r.ctx, &ec2.ModifyVpcEndpointServiceConfigurationInput{ServiceId: &id, RemoveSupportedIpAddressTypes: []string{"ipv4"}})
		r.refused("without", err, "InvalidParameter")
	}},
	{name: "a service has a name, the load balancer's zones and its tags", steps: func(r *run) {
		id, name := r.service(false)
		s := r.described(id)
		r.equal("name", name, "com.amazonaws.vpce."+region+"."+id)
		r.equal("state", string(s.ServiceState), "Available")
		r.equal("acceptance", aws.ToBool(s.AcceptanceRequired), false)
		r.equal("load balancers", s.NetworkLoadBalancerArns, []string{r.balancer.arn})
		r.equal("zones", len(s.AvailabilityZones), 2)
		r.equal("tags", len(s.Tags), 1)
	}},
	{name: "a service shows the ids of its zones", steps: func(r *run) {
		id, _ := r.service(false)
		s := r.described(id)
		subnets, err := r.consumer.ec2.DescribeSubnets(r.ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{r.a, r.b}})
		r.ok("DescribeSubnets", err)
		var want []string
		for _, n := range subnets.Subnets {
			want = append(want, *n.AvailabilityZoneId)
		}
		got := slices.Sorted(slices.Values(s.AvailabilityZoneIds))
		slices.Sort(want)
		r.equal("zone ids", got, want)
	}},
	{name: "a second service on one load balancer is refused", steps: func(r *run) {
		r.service(false)
		_, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, r.serviceOn(false, r.balancer))
		r.refused("CreateVpcEndpointServiceConfiguration", err, "InvalidParameter")
	}},
	{name: "a service needs acceptance unless told otherwise", steps: func(r *run) {
		in := r.serviceOn(true, r.balancer)
		in.AcceptanceRequired = nil
		out, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, in)
		r.ok("CreateVpcEndpointServiceConfiguration", err)
		r.later(func() { r.dropService(*out.ServiceConfiguration.ServiceId) })
		r.equal("acceptance", aws.ToBool(out.ServiceConfiguration.AcceptanceRequired), true)
	}},
	{name: "a client token makes creating twice one service", steps: func(r *run) {
		in := r.serviceOn(false, r.balancer)
		in.ClientToken = aws.String(r.unique("token"))
		first, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, in)
		r.ok("CreateVpcEndpointServiceConfiguration", err)
		r.later(func() { r.dropService(*first.ServiceConfiguration.ServiceId) })
		second, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, in)
		r.ok("CreateVpcEndpointServiceConfiguration again", err)
		r.equal("same service", *second.ServiceConfiguration.ServiceId, *first.ServiceConfiguration.ServiceId)
		in.AcceptanceRequired = aws.Bool(true)
		_, err = r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, in)
		r.refused("the token with other parameters", err, "IdempotentParameterMismatch")
	}},
	{name: "services are found by name, id, state and tag", steps: func(r *run) {
		id, name := r.service(false)
		other, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, &ec2.CreateVpcEndpointServiceConfigurationInput{
			NetworkLoadBalancerArns: []string{r.balancer2.arn}, TagSpecifications: spec(types.ResourceTypeVpcEndpointService, "contract", "other")})
		r.ok("CreateVpcEndpointServiceConfiguration", err)
		r.later(func() { r.dropService(*other.ServiceConfiguration.ServiceId) })
		for _, f := range [][]types.Filter{filter("service-name", name), filter("service-id", id), filter("tag:contract", "service"), append(filter("tag-key", "contract"), filter("service-id", id)...)} {
			out, err := r.provider.ec2.DescribeVpcEndpointServiceConfigurations(r.ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{Filters: f})
			r.ok("DescribeVpcEndpointServiceConfigurations", err)
			var ids []string
			for _, s := range out.ServiceConfigurations {
				ids = append(ids, *s.ServiceId)
			}
			r.equal("found by "+*f[0].Name, ids, []string{id})
		}
	}},
	{name: "an unknown service id is not found", steps: func(r *run) {
		_, err := r.provider.ec2.DescribeVpcEndpointServiceConfigurations(r.ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{ServiceIds: []string{"vpce-svc-0123456789abcdef0"}})
		r.refused("DescribeVpcEndpointServiceConfigurations", err, "InvalidVpcEndpointServiceId.NotFound")
		out, err := r.provider.ec2.DeleteVpcEndpointServiceConfigurations(r.ctx, &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{"vpce-svc-0123456789abcdef0"}})
		r.ok("DeleteVpcEndpointServiceConfigurations", err)
		r.equal("unsuccessful", codes(out.Unsuccessful), []string{"InvalidVpcEndpointService.NotFound"})
	}},
	{name: "a service moves to another load balancer and changes its acceptance", steps: func(r *run) {
		id, _ := r.service(false)
		_, err := r.provider.ec2.ModifyVpcEndpointServiceConfiguration(r.ctx, &ec2.ModifyVpcEndpointServiceConfigurationInput{
			ServiceId: &id, AcceptanceRequired: aws.Bool(true), AddNetworkLoadBalancerArns: []string{r.balancer2.arn}, RemoveNetworkLoadBalancerArns: []string{r.balancer.arn}})
		r.ok("ModifyVpcEndpointServiceConfiguration", err)
		s := r.described(id)
		r.equal("load balancers", s.NetworkLoadBalancerArns, []string{r.balancer2.arn})
		r.equal("acceptance", aws.ToBool(s.AcceptanceRequired), true)
	}},
	{name: "principals are added and removed, and doing it twice is no error", steps: func(r *run) {
		id, _ := r.service(false)
		role := "arn:aws:iam::" + r.consumer.account + ":root"
		modify := func(add, remove []string) error {
			_, err := r.provider.ec2.ModifyVpcEndpointServicePermissions(r.ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: &id, AddAllowedPrincipals: add, RemoveAllowedPrincipals: remove})
			return err
		}
		list := func() []string {
			out, err := r.provider.ec2.DescribeVpcEndpointServicePermissions(r.ctx, &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: &id})
			r.ok("DescribeVpcEndpointServicePermissions", err)
			var arns []string
			for _, p := range out.AllowedPrincipals {
				arns = append(arns, *p.Principal)
			}
			slices.Sort(arns)
			return arns
		}
		r.ok("add again", modify([]string{role}, nil))
		r.equal("principals", slices.Contains(list(), role), true)
		r.ok("exchange", modify([]string{"arn:aws:iam::" + r.provider.account + ":root"}, list()))
		r.equal("principals", list(), []string{"arn:aws:iam::" + r.provider.account + ":root"})
	}},
	{name: "a principal that is no ARN of a user, role or account is refused", steps: func(r *run) {
		// https://github.com/hashicorp/terraform-provider-aws/issues/16657
		id, _ := r.service(false)
		for _, arn := range []string{"someone", "arn:aws:sts::" + r.consumer.account + ":assumed-role/role/session"} {
			_, err := r.provider.ec2.ModifyVpcEndpointServicePermissions(r.ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: &id, AddAllowedPrincipals: []string{arn}})
			r.refused(arn, err, "InvalidPrincipal")
		}
	}},
	{name: "a service without endpoints is deleted", steps: func(r *run) {
		id, _ := r.service(false)
		out, err := r.provider.ec2.DeleteVpcEndpointServiceConfigurations(r.ctx, &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
		r.ok("DeleteVpcEndpointServiceConfigurations", err)
		r.equal("unsuccessful", codes(out.Unsuccessful), []string(nil))
		r.becomes("the service is gone", func() bool {
			_, err := r.provider.ec2.DescribeVpcEndpointServiceConfigurations(r.ctx, &ec2.DescribeVpcEndpointServiceConfigurationsInput{ServiceIds: []string{id}})
			return err != nil
		})
	}},
}

package awscontract

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// exhaust repeats a call that creates something until AWS refuses it, and checks that the quota is not larger than a new
// account's. The resources that exist already count, too.
func (r *run) exhaust(id string, create func(i int) error) {
	rule := awsrules.Get(id)
	for i := range int(rule.Limit) {
		if err := create(i); err != nil {
			r.refusedBy(id, fmt.Sprintf("number %d", i+1), err)
			return
		}
	}
	r.refusedBy(id, "one above the quota", create(int(rule.Limit)))
}

func (r *run) address() (string, error) {
	out, err := r.consumer.ec2.AllocateAddress(r.ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	if err != nil {
		return "", err
	}
	r.later(func() {
		r.wait(r.ctx, func() bool {
			_, err := r.consumer.ec2.ReleaseAddress(r.ctx, &ec2.ReleaseAddressInput{AllocationId: out.AllocationId})
			return err == nil
		})
	})
	return *out.AllocationId, nil
}

// gateway creates a NAT gateway.
func (r *run) gateway(in *ec2.CreateNatGatewayInput) (string, error) {
	out, err := r.consumer.ec2.CreateNatGateway(r.ctx, in)
	if err != nil {
		return "", err
	}
	id := *out.NatGateway.NatGatewayId
	r.later(func() {
		_, _ = r.consumer.ec2.DeleteNatGateway(r.ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &id})
		r.wait(r.ctx, func() bool {
			out, err := r.consumer.ec2.DescribeNatGateways(r.ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}})
			return err != nil || len(out.NatGateways) == 0 || out.NatGateways[0].State == types.NatGatewayStateDeleted
		})
	})
	return id, nil
}

func (r *run) gatewayState(id string) types.NatGateway {
	out, err := r.consumer.ec2.DescribeNatGateways(r.ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}})
	r.ok("DescribeNatGateways", err)
	return out.NatGateways[0]
}

func (r *run) loadBalancer(name string) (string, error) {
	out, err := r.consumer.elb.CreateLoadBalancer(r.ctx, &elb.CreateLoadBalancerInput{
		Name: &name, Type: elbtypes.LoadBalancerTypeEnumNetwork, Scheme: elbtypes.LoadBalancerSchemeEnumInternal, Subnets: []string{r.a}})
	if err != nil {
		return "", err
	}
	arn := *out.LoadBalancers[0].LoadBalancerArn
	r.later(func() {
		_, _ = r.consumer.elb.DeleteLoadBalancer(r.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: &arn})
	})
	return arn, nil
}

// internet attaches an internet gateway to the VPC.
func (r *run) internet() string {
	out, err := r.consumer.ec2.CreateInternetGateway(r.ctx, &ec2.CreateInternetGatewayInput{})
	r.ok("CreateInternetGateway", err)
	id := *out.InternetGateway.InternetGatewayId
	_, err = r.consumer.ec2.AttachInternetGateway(r.ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: &id, VpcId: &r.vpc})
	r.ok("AttachInternetGateway", err)
	r.later(func() {
		_ = r.detach(id)
		_, _ = r.consumer.ec2.DeleteInternetGateway(r.ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &id})
	})
	return id
}

func (r *run) detach(id string) error {
	_, err := r.consumer.ec2.DetachInternetGateway(r.ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: &id, VpcId: &r.vpc})
	return err
}

var quotaRules = map[string]func(*run){
	"an account has at most 5 Elastic IP addresses": func(r *run) {
		r.exhaust("ec2-addresses", func(int) error {
			_, err := r.address()
			return err
		})
	},
	"an account has at most 5 VPCs": func(r *run) {
		r.exhaust("ec2-vpcs", func(i int) error {
			out, err := r.consumer.ec2.CreateVpc(r.ctx, &ec2.CreateVpcInput{CidrBlock: aws.String(fmt.Sprintf("10.%d.0.0/16", 100+i))})
			if err == nil {
				r.later(func() { _, _ = r.consumer.ec2.DeleteVpc(r.ctx, &ec2.DeleteVpcInput{VpcId: out.Vpc.VpcId}) })
			}
			return err
		})
	},
	"an account has at most 5 NAT gateways in a zone": func(r *run) {
		r.exhaust("ec2-nat-gateways-per-zone", func(int) error {
			_, err := r.gateway(&ec2.CreateNatGatewayInput{SubnetId: &r.a, ConnectivityType: types.ConnectivityTypePrivate})
			return err
		})
	},
	"a security group has at most 60 rules": func(r *run) {
		group := r.group()
		ranges := func(first, last int) *ec2.AuthorizeSecurityGroupIngressInput {
			in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group}
			for i := first; i <= last; i++ {
				in.IpPermissions = append(in.IpPermissions, types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(int32(1000 + i)), ToPort: aws.Int32(int32(1000 + i)),
					IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}})
			}
			return in
		}
		_, err := r.consumer.ec2.AuthorizeSecurityGroupIngress(r.ctx, ranges(1, 60))
		r.ok("60 rules", err)
		_, err = r.consumer.ec2.AuthorizeSecurityGroupIngress(r.ctx, ranges(61, 61))
		r.refusedBy("ec2-rules-per-group", "one more", err)
	},
	"an account has at most 50 network load balancers": func(r *run) {
		r.exhaust("elb-network-load-balancers", func(int) error {
			_, err := r.loadBalancer(r.unique("nlb"))
			return err
		})
	},
	"the name of a load balancer does not begin with internal-": func(r *run) {
		name := "internal-" + r.unique("n")
		_, err := r.loadBalancer(name)
		r.refusedBy("elb-load-balancer-prefix", name, err)
	},
	"an endpoint service is created when its load balancer is active": func(r *run) {
		arn := r.provisioning(r.t, r.unique("new"))
		early, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, r.serviceOn(false, loadBalancer{arn: arn}))
		if err == nil {
			r.later(func() { r.dropService(*early.ServiceConfiguration.ServiceId) })
		}
		r.refusedBy("privatelink-load-balancer-active", "while it is provisioning", err)
		r.becomes("the endpoint service is created", func() bool {
			out, err := r.provider.ec2.CreateVpcEndpointServiceConfiguration(r.ctx, r.serviceOn(false, loadBalancer{arn: arn}))
			if err != nil {
				r.refused("meanwhile", err, awsrules.Get("privatelink-load-balancer-active").Code)
				return false
			}
			r.later(func() { r.dropService(*out.ServiceConfiguration.ServiceId) })
			return true
		})
	},
	"an endpoint service allows only principals that exist": func(r *run) {
		id, _ := r.service(false)
		_, err := r.provider.ec2.ModifyVpcEndpointServicePermissions(r.ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{
			ServiceId: &id, AddAllowedPrincipals: []string{"arn:aws:iam::" + r.consumer.account + ":role/" + r.unique("nothing")}})
		r.refusedBy("privatelink-principal", "a role that does not exist", err)
		_, err = r.provider.ec2.ModifyVpcEndpointServicePermissions(r.ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{
			ServiceId: &id, AddAllowedPrincipals: []string{r.role}})
		r.ok("a role that exists", err)
	},
	"the description of a security group has a small set of characters": func(r *run) {
		for _, text := range []string{"the cluster's", "für"} {
			_, err := r.consumer.ec2.CreateSecurityGroup(r.ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String(r.unique("group")), Description: &text, VpcId: &r.vpc})
			r.refused(text, err, awsrules.Get("ec2-group-description").Code)
		}
	},
	"the description of a rule has a small set of characters": func(r *run) {
		group := r.group()
		for _, text := range []string{"the cluster's", "für"} {
			_, err := r.consumer.ec2.AuthorizeSecurityGroupIngress(r.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{{
				IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8"), Description: &text}}}}})
			r.refused(text, err, awsrules.Get("ec2-rule-description").Code)
		}
	},
	"a NAT gateway in a VPC without an internet gateway fails": func(r *run) {
		address, err := r.address()
		r.ok("AllocateAddress", err)
		id, err := r.gateway(&ec2.CreateNatGatewayInput{SubnetId: &r.a, AllocationId: &address})
		r.ok("CreateNatGateway", err)
		r.becomes("the NAT gateway fails", func() bool { return r.gatewayState(id).State == types.NatGatewayStateFailed })
		rule, found := awsrules.Get("ec2-nat-gateway-internet"), r.gatewayState(id)
		r.equal("code", aws.ToString(found.FailureCode), rule.Code)
		r.equal("message", aws.ToString(found.FailureMessage), rule.Text(r.vpc))
	},
	"an internet gateway stays attached while something has a public address": func(r *run) {
		internet := r.internet()
		address, err := r.address()
		r.ok("AllocateAddress", err)
		nat, err := r.gateway(&ec2.CreateNatGatewayInput{SubnetId: &r.a, AllocationId: &address})
		r.ok("CreateNatGateway", err)
		r.becomes("the NAT gateway is available", func() bool { return r.gatewayState(nat).State == types.NatGatewayStateAvailable })
		r.refusedBy("ec2-internet-gateway-in-use", "with a NAT gateway", r.detach(internet))
		_, err = r.consumer.ec2.DeleteNatGateway(r.ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &nat})
		r.ok("DeleteNatGateway", err)
		r.becomes("the internet gateway is detached", func() bool { return r.detach(internet) == nil })
	},
}

package awsemulator_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// A used resource cannot be deleted; after its user is deleted, it can.
func TestWhatIsInUseStays(t *testing.T) {
	for sentence, c := range map[string]struct {
		code string
		use  func(t *testing.T, p *pair) (remove func() error, release func())
	}{
		"a security group on an endpoint": {"DependencyViolation", func(t *testing.T, p *pair) (func() error, func()) {
			group := p.customer.securityGroup(t, "endpoint")
			input := interfaceEndpoint(p.customer.vpc, *p.service.ServiceName, p.subnets...)
			input.SecurityGroupIds = []string{group}
			made, err := p.customer.ec2.CreateVpcEndpoint(t.Context(), input)
			must(t, err)
			return deleteGroup(t, p.customer, group), func() { p.customer.deleteEndpoint(t, *made.VpcEndpoint.VpcEndpointId) }
		}},
		"a security group on an instance": {"DependencyViolation", func(t *testing.T, p *pair) (func() error, func()) {
			group := p.customer.securityGroup(t, "node")
			made, err := p.customer.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
				ImageId: aws.String(awsemulator.ImageAMD64), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
				SubnetId: aws.String(p.subnets[0]), SecurityGroupIds: []string{group},
			})
			must(t, err)
			return deleteGroup(t, p.customer, group), func() {
				_, err := p.customer.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*made.Instances[0].InstanceId}})
				must(t, err)
			}
		}},
		"a security group that another one's rule names": {"DependencyViolation", func(t *testing.T, p *pair) (func() error, func()) {
			group, user := p.customer.securityGroup(t, "group"), p.customer.securityGroup(t, "user")
			rule := []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String(group)}}}}
			_, err := p.customer.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(user), IpPermissions: rule})
			must(t, err)
			return deleteGroup(t, p.customer, group), func() {
				_, err := p.customer.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(user), IpPermissions: rule})
				must(t, err)
			}
		}},
		"a subnet with an endpoint": {"DependencyViolation", func(t *testing.T, p *pair) (func() error, func()) {
			id := *p.customer.endpoint(t, *p.service.ServiceName, p.subnets[0]).VpcEndpointId
			return func() error {
				_, err := p.customer.ec2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: aws.String(p.subnets[0])})
				return err
			}, func() { p.customer.deleteEndpoint(t, id) }
		}},
		"a subnet with a NAT gateway": {"DependencyViolation", func(t *testing.T, p *pair) (func() error, func()) {
			nat := p.customer.nat(t, p.subnets[0])
			return func() error {
				_, err := p.customer.ec2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: aws.String(p.subnets[0])})
				return err
			}, func() { p.customer.deleteNAT(t, nat) }
		}},
		"the address of a NAT gateway": {"InvalidIPAddress.InUse", func(t *testing.T, p *pair) (func() error, func()) {
			nat := p.customer.nat(t, p.subnets[0])
			return func() error {
				_, err := p.customer.ec2.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: nat.NatGatewayAddresses[0].AllocationId})
				return err
			}, func() { p.customer.deleteNAT(t, nat) }
		}},
		"a load balancer of an endpoint service": {"ResourceInUse", func(t *testing.T, p *pair) (func() error, func()) {
			return func() error {
					_, err := p.provider.elb.DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: p.nlb.LoadBalancerArn})
					return err
				}, func() {
					_, err := p.provider.ec2.DeleteVpcEndpointServiceConfigurations(t.Context(), &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{*p.service.ServiceId}})
					must(t, err)
				}
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			remove, release := c.use(t, newPair(t, false))
			refused(t, remove(), c.code)
			release()
			refused(t, remove(), "")
		})
	}
}

func TestAVPCStaysWhileAnythingIsInIt(t *testing.T) {
	a := newAccount(t)
	gateway, err := a.ec2.CreateInternetGateway(t.Context(), &ec2.CreateInternetGatewayInput{})
	must(t, err)
	id := gateway.InternetGateway.InternetGatewayId
	_, err = a.ec2.AttachInternetGateway(t.Context(), &ec2.AttachInternetGatewayInput{InternetGatewayId: id, VpcId: aws.String(a.vpc)})
	must(t, err)
	group := a.securityGroup(t, "left")
	remove := func() error {
		_, err := a.ec2.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: aws.String(a.vpc)})
		return err
	}
	refused(t, remove(), "DependencyViolation")
	_, err = a.ec2.DetachInternetGateway(t.Context(), &ec2.DetachInternetGatewayInput{InternetGatewayId: id, VpcId: aws.String(a.vpc)})
	must(t, err)
	refused(t, remove(), "DependencyViolation")
	must(t, deleteGroup(t, a, group)())
	refused(t, remove(), "")
}

func (a *account) nat(t *testing.T, subnet string) *types.NatGateway {
	t.Helper()
	address, err := a.ec2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	must(t, err)
	made, err := a.ec2.CreateNatGateway(t.Context(), &ec2.CreateNatGatewayInput{SubnetId: aws.String(subnet), AllocationId: address.AllocationId})
	must(t, err)
	return made.NatGateway
}

func (a *account) deleteNAT(t *testing.T, nat *types.NatGateway) {
	t.Helper()
	_, err := a.ec2.DeleteNatGateway(t.Context(), &ec2.DeleteNatGatewayInput{NatGatewayId: nat.NatGatewayId})
	must(t, err)
}

func deleteGroup(t *testing.T, a *account, id string) func() error {
	return func() error {
		_, err := a.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: aws.String(id)})
		return err
	}
}

package awsemulator_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// The three calls that our controllers make again after a crash.
func TestTheSameTokenMakesOneResource(t *testing.T) {
	p := newPair(t, false)
	spare := p.provider.nlb(t, "spare", p.provider.subnet(t, "10.0.9.0/24", 2))
	other := p.provider.nlb(t, "other", p.provider.subnet(t, "10.0.10.0/24", 2))

	for action, call := range map[string]struct {
		same, different func(token string) (string, error)
	}{
		"CreateVpcEndpoint": {
			same:      func(token string) (string, error) { return createEndpoint(t, p, token, p.subnets...) },
			different: func(token string) (string, error) { return createEndpoint(t, p, token, p.subnets[0]) },
		},
		"CreateVpcEndpointServiceConfiguration": {
			same:      func(token string) (string, error) { return createService(t, p.provider, token, *spare.LoadBalancerArn) },
			different: func(token string) (string, error) { return createService(t, p.provider, token, *other.LoadBalancerArn) },
		},
		"RunInstances": {
			same:      func(token string) (string, error) { return runInstance(t, p.customer, token, p.subnets[0]) },
			different: func(token string) (string, error) { return runInstance(t, p.customer, token, p.subnets[1]) },
		},
	} {
		t.Run(action, func(t *testing.T) {
			first, err := call.same("token")
			must(t, err)
			again, err := call.same("token")
			must(t, err)
			equal(t, "the second answer", again, first)
			_, err = call.different("token")
			refused(t, err, "IdempotentParameterMismatch")
			third, err := call.different("another token")
			must(t, err)
			if third == first {
				t.Errorf("another token gave %s again", first)
			}
		})
	}
}

func TestATokenOutlivesItsEndpoint(t *testing.T) {
	p := newPair(t, false)
	first, err := createEndpoint(t, p, "token", p.subnets...)
	must(t, err)
	p.customer.deleteEndpoint(t, first)
	again, err := createEndpoint(t, p, "token", p.subnets...)
	must(t, err)
	equal(t, "the answer after the deletion", again, first)
}

func createEndpoint(t *testing.T, p *pair, token string, subnets ...string) (string, error) {
	input := interfaceEndpoint(p.customer.vpc, *p.service.ServiceName, subnets...)
	input.ClientToken = aws.String(token)
	made, err := p.customer.ec2.CreateVpcEndpoint(t.Context(), input)
	if err != nil {
		return "", err
	}
	return *made.VpcEndpoint.VpcEndpointId, nil
}

func createService(t *testing.T, a *account, token, nlb string) (string, error) {
	made, err := a.ec2.CreateVpcEndpointServiceConfiguration(t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
		ClientToken: aws.String(token), NetworkLoadBalancerArns: []string{nlb},
	})
	if err != nil {
		return "", err
	}
	return *made.ServiceConfiguration.ServiceId, nil
}

func runInstance(t *testing.T, a *account, token, subnet string) (string, error) {
	made, err := a.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ClientToken: aws.String(token), ImageId: aws.String(awsemulator.ImageAMD64), InstanceType: "m5.large",
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String(subnet),
	})
	if err != nil {
		return "", err
	}
	return *made.Instances[0].InstanceId, nil
}

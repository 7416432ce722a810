package awsemulator_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

func TestARoleMayDoWhatItsPoliciesAllow(t *testing.T) {
	a := newAccount(t)
	root := "arn:aws:iam::" + a.id + ":root"
	role, err := emulator.Role(t.Context(), a.id, "machines", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":"`+root+`"}}]}`)
	must(t, err)
	must(t, emulator.InstanceProfile(t.Context(), a.id, "worker"))
	subnet, group := a.subnet(t, "10.0.0.0/24", 0), a.securityGroup(t, "node")
	session := accountWith(t, a.id, assume(t, a, role))
	run := func(change func(*ec2.RunInstancesInput)) func() error {
		return func() error {
			request := launch(subnet, group)
			change(request)
			_, err := session.ec2.RunInstances(t.Context(), request)
			return err
		}
	}
	calls := map[string]func() error{
		"describe": func() error {
			_, err := session.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
			return err
		},
		"run": run(func(in *ec2.RunInstancesInput) { in.TagSpecifications = nil }),
		"run with tags": run(func(*ec2.RunInstancesInput) {
		}),
		"run with a profile": run(func(in *ec2.RunInstancesInput) {
			in.TagSpecifications = nil
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("worker")}
		}),
		"list load balancers": func() error {
			_, err := session.elb.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{})
			return err
		},
		"ask who I am": func() error {
			_, err := session.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			return err
		},
	}
	check := func(when string, refusals map[string]string) {
		t.Helper()
		for call, do := range calls {
			t.Run(when+": "+call, func(t *testing.T) { refused(t, do(), refusals[call]) })
		}
	}

	check("without a policy", nil)
	must(t, emulator.Permit(t.Context(), a.id, "machines", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["ec2:describe*","ec2:RunInstances"],"Resource":"*"}}`))
	check("with a policy", map[string]string{
		"run with tags": "UnauthorizedOperation", "run with a profile": "UnauthorizedOperation", "list load balancers": "AccessDenied",
	})
	must(t, emulator.Permit(t.Context(), a.id, "machines", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"*"},{"Effect":"Allow","Action":"iam:PassRole","Resource":"*"}]}`))
	check("with a wide policy", map[string]string{"list load balancers": "AccessDenied"})
}

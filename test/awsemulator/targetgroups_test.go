package awsemulator_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// Controllers set only attributes that a group has.
func TestTargetGroupsHaveTheAttributesOfNetworkLoadBalancers(t *testing.T) {
	a := newAccount(t)
	for kind, preserves := range map[types.TargetTypeEnum]string{types.TargetTypeEnumInstance: "true", types.TargetTypeEnumIp: "false"} {
		name := "group-" + string(kind)
		made, err := a.elb.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{Name: &name, Protocol: types.ProtocolEnumTcp, Port: aws.Int32(443), VpcId: &a.vpc, TargetType: kind})
		must(t, err)
		group := made.TargetGroups[0].TargetGroupArn
		attributes := func() map[string]string {
			out, err := a.elb.DescribeTargetGroupAttributes(t.Context(), &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: group})
			must(t, err)
			all := map[string]string{}
			for _, attribute := range out.Attributes {
				all[*attribute.Key] = *attribute.Value
			}
			return all
		}
		got := attributes()
		for key, want := range map[string]string{"proxy_protocol_v2.enabled": "false", "preserve_client_ip.enabled": preserves, "deregistration_delay.timeout_seconds": "300", "stickiness.type": "source_ip"} {
			if got[key] != want {
				t.Errorf("%s: %s is %q, want %q", kind, key, got[key], want)
			}
		}
		if _, has := got["load_balancing.algorithm.type"]; has {
			t.Errorf("%s: it has an attribute of application load balancers", kind)
		}
		_, err = a.elb.ModifyTargetGroupAttributes(t.Context(), &elbv2.ModifyTargetGroupAttributesInput{TargetGroupArn: group, Attributes: []types.TargetGroupAttribute{
			{Key: aws.String("proxy_protocol_v2.enabled"), Value: aws.String("true")},
		}})
		must(t, err)
		if got := attributes()["proxy_protocol_v2.enabled"]; got != "true" {
			t.Errorf("%s: after a change it is %q", kind, got)
		}
	}
}

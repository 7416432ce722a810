package cloudcontrollermanager

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
)

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component, targettest.Single, targettest.HighlyAvailable,
		targettest.Case{Name: "placed", Adapt: func(env *target.ControlPlane) {
			env.HCP.Spec.Platform.AWS.CloudProviderConfig = &hyperv1.AWSCloudProviderConfig{
				VPC: "vpc-1", Zone: "us-east-1a", Subnet: &hyperv1.AWSResourceReference{ID: ptr.To("subnet-1")},
			}
			env.Egress = []corev1.EnvVar{{Name: "AWS_ENDPOINT_URL", Value: "http://aws.test"}}
			env.HCP.Annotations[hyperv1.AWSLoadBalancerHealthProbeModeAnnotation] = "Shared"
			env.HCP.Annotations[hyperv1.SharedLoadBalancerHealthProbePathAnnotation] = "/live"
			env.HCP.Annotations[hyperv1.SharedLoadBalancerHealthProbePortAnnotation] = "10257"
			targettest.Trusting(env)
		}},
	)
}

func TestComponentRunsOnAWSWithNodes(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*target.ControlPlane)
		want   bool
	}{
		"a cluster that expects nodes":       {func(*target.ControlPlane) {}, true},
		"not one that expects none":          {func(env *target.ControlPlane) { env.ExpectsNodes = false }, false},
		"not one whose nodes are not on AWS": {func(env *target.ControlPlane) { env.HCP.Spec.Platform.AWS = nil }, false},
	} {
		env := targettest.Env()
		c.change(env)
		if got := Component.Wanted(env); got != c.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

func TestCloudConfRejectsLineBreaks(t *testing.T) {
	for name, config := range map[string]hyperv1.AWSCloudProviderConfig{
		"in the zone":   {VPC: "vpc-1", Zone: "us-east-1a\n[ServiceOverride \"1\"]\nService=ec2\nURL=http://10.1.2.3"},
		"in the VPC":    {VPC: "vpc-1\nDisableSecurityGroupIngress=true"},
		"in the subnet": {VPC: "vpc-1", Subnet: &hyperv1.AWSResourceReference{ID: ptr.To("subnet-1\rRoleARN=x")}},
	} {
		t.Run(name, func(t *testing.T) {
			env := targettest.Env()
			env.HCP.Spec.Platform.AWS = &hyperv1.AWSPlatformSpec{Region: "us-east-1", CloudProviderConfig: &config}
			cm := &corev1.ConfigMap{}
			if err := adaptConfig(env, cm); err == nil {
				t.Errorf("written: %q", cm.Data["cloud.conf"])
			}
		})
	}
}

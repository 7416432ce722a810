package karpenter

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
)

func TestGolden(t *testing.T) {
	available := targettest.HighlyAvailable
	targettest.Golden(t, Component,
		targettest.Case{Name: targettest.Single.Name, Adapt: onDemand},
		targettest.Case{Name: available.Name, Adapt: func(env *target.ControlPlane) {
			onDemand(env)
			available.Adapt(env)
			env.HCP.Spec.Platform.AWS.TerminationHandlerQueueURL = "https://sqs.us-east-1.amazonaws.com/222222222222/demo-x7k2p-interruptions"
			env.Egress = []corev1.EnvVar{{Name: "AWS_ENDPOINT_URL", Value: "http://aws.test"}}
			targettest.Trusting(env)
		}},
	)
}

// onDemand is a cluster with nodes on demand.
func onDemand(env *target.ControlPlane) {
	env.HCP.Spec.AutoNode = &hyperv1.AutoNode{Provisioner: hyperv1.ProvisionerConfig{
		Name: hyperv1.ProvisionerKarpenter,
		Karpenter: &hyperv1.KarpenterConfig{
			Platform: hyperv1.AWSPlatform, AWS: &hyperv1.KarpenterAWSConfig{RoleARN: "arn:aws:iam::222222222222:role/demo-karpenter"},
		},
	}}
}

func TestComponentRunsWithNodesOnDemand(t *testing.T) {
	env := targettest.Env()
	if Component.Wanted(env) {
		t.Error("it runs without spec.autoNode")
	}
	onDemand(env)
	if !Component.Wanted(env) {
		t.Error("it does not run with spec.autoNode")
	}
}

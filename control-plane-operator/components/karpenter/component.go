// Package karpenter runs Karpenter for a hosted cluster, which creates nodes on demand (spec.autoNode):
//
//	signing key ── token-minter ──► token ──► role of spec.autoNode in the customer's account
//	pods, NodePools of the hosted cluster ─► NodeClaims ─► instances
//
// It watches only the hosted cluster. Package hostedcluster/autonode creates its CRDs, the default EC2NodeClass and NodePool
// there, and approves the certificates of its nodes.
package karpenter

import (
	"embed"
	"net"
	"path"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is Karpenter.
var Component = component.Component[*target.ControlPlane]{
	Name:   names.Karpenter,
	Assets: assets,
	After:  []string{names.KubeAPIServer},
	Wanted: func(env *target.ControlPlane) bool { return env.HCP.Spec.AutoNode.Karpenter() != nil },
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("deployment.yaml", adaptDeployment),
	},
	// The token minter reads the key for each token.
	Reloads: []string{"Secret/" + names.ServiceAccountSigningKey},
}

func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	aws, karpenter := env.HCP.Spec.Platform.AWS, env.HCP.Spec.AutoNode.Karpenter()
	if karpenter == nil {
		karpenter = &hyperv1.KarpenterAWSConfig{} // the component is not wanted
	}
	pod := &d.Spec.Template.Spec
	c := component.Container(pod, names.Karpenter)
	set := func(name, value string) { c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value}) }
	// Instances have the tag kubernetes.io/cluster/<name>, by which the cluster owns them.
	set("CLUSTER_NAME", env.HCP.Spec.InfraID)
	// Only the user data of other AMI families contains it. Without it, Karpenter would ask EKS for the cluster.
	set("CLUSTER_ENDPOINT", "https://"+net.JoinHostPort(env.API.Name, strconv.Itoa(int(env.API.Port))))
	if url := aws.TerminationHandlerQueueURL; url != "" {
		set("INTERRUPTION_QUEUE", path.Base(url))
	}
	if *d.Spec.Replicas == 1 {
		set("DISABLE_LEADER_ELECTION", "true")
	}
	c.Env = slices.Concat(c.Env, component.AWSIdentity(aws.Region, string(karpenter.RoleARN)), env.Egress)
	minter := component.Container(pod, "token-minter")
	minter.Args = append(minter.Args, "--issuer="+env.HCP.Spec.IssuerURL, "--subject="+names.KarpenterSubject,
		"--role-arn="+string(karpenter.RoleARN), "--region="+aws.Region)
	minter.Env = append(minter.Env, env.Egress...)
	target.TrustUser(env, pod)
	return nil
}

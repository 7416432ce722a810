// Package podidentitywebhook runs the webhook that gives pods of a hosted cluster an identity in AWS. A ServiceAccount with the
// annotation eks.amazonaws.com/role-arn gets this role:
//
//	API server ── pod ──► webhook ──► the pod, with a token for sts.amazonaws.com and the ARN of the role
//	              │
//	              └ the ServiceAccounts of the hosted cluster, which the webhook watches
//
// The API server signs the token, with the issuer of the hosted cluster. The subject is the ServiceAccount, and never one of the
// operators' subjects (names.ControlPlaneOperatorSubject and the others).
//
// The webhook runs in the namespace of the control plane, and the API server reaches it there by the name of its Service. Webhooks
// with a URL do not use the tunnels. hostedcluster/objects registers it in the hosted cluster.
package podidentitywebhook

import (
	"embed"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the webhook. It runs before there are nodes: pods that wait for the first node need their identity, too.
var Component = component.Component[*target.ControlPlane]{
	Name:   names.PodIdentityWebhook,
	Assets: assets,
	After:  []string{names.KubeAPIServer},
	Wanted: func(env *target.ControlPlane) bool { return env.HCP.Spec.Platform.AWS != nil },
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("deployment.yaml", adaptDeployment),
	},
}

func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	c := component.Container(&d.Spec.Template.Spec, names.PodIdentityWebhook)
	c.Args = append(c.Args, "--aws-default-region="+env.HCP.Spec.Platform.AWS.Region)
	return nil
}

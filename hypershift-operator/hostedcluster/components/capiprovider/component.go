// Package capiprovider runs Cluster API's AWS provider, which creates the instances of a hosted cluster, in the pod of Cluster API and
// with its service account.
package capiprovider

import (
	"embed"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Image is the name of the provider's image in a release.
const Image = "cluster-api-provider-aws"

// Component is the AWS provider of Cluster API, and a sidecar that issues its token for AWS.
var Component = component.Component[*controlplane.Target]{
	Name:   names.CAPIProvider,
	Assets: assets,
	In:     names.ClusterAPI,
	Adapters: []component.Adapter[*controlplane.Target]{
		component.On("deployment.yaml", adaptDeployment),
	},
}

func adaptDeployment(t *controlplane.Target, d *appsv1.Deployment) error {
	if t.AWS == nil {
		return fmt.Errorf("the platform has no AWS provider")
	}
	pod := &d.Spec.Template.Spec
	c := component.Container(pod, "manager")
	t.InNamespace(c)
	role := string(t.AWS.RolesRef.NodePoolManagementARN)
	c.Env = slices.Concat(component.AWSIdentity(t.AWS.Region, role), c.Env, t.Egress)

	minter := component.Container(pod, "token-minter")
	minter.Args = slices.Insert(minter.Args, 1, "--issuer="+t.IssuerURL)
	minter.Args = append(minter.Args, "--role-arn="+role, "--region="+t.AWS.Region)
	minter.Env = slices.Clone(t.Egress)
	return nil
}

// Package fix implements the command `fix dr-oidc-iam`.
package fix

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

const long = `AWS accepts the tokens of a cluster if the OIDC provider of its issuer exists in the customer's account, and if the documents of the issuer
are published. The hypershift-operator publishes the documents again by itself. This command creates the provider again, or repairs its audiences
and tags. Roles that were deleted, too, are created again by ` + "`hypershift create iam aws`" + `.`

type options struct {
	operation.Options
	management.Flags
	name, namespace, infraID, issuer string
}

// NewOIDC returns `fix dr-oidc-iam`.
func NewOIDC(env operation.Environment) *cobra.Command {
	var o options
	c := operation.Command("dr-oidc-iam", "Create the OIDC provider of a cluster in AWS again", long, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift fix dr-oidc-iam --hc-name demo --plan\n" +
		"  hypershift fix dr-oidc-iam --infra-id demo-x7k2p --issuer https://my-oidc.s3.us-east-1.amazonaws.com/demo-x7k2p"
	o.Options.Flags(c, false)
	o.Flags.Add(c)
	f := c.Flags()
	f.StringVar(&o.name, "hc-name", "", "name of the HostedCluster")
	f.StringVar(&o.namespace, "hc-namespace", "", "namespace of the HostedCluster"+management.NamespaceDefault)
	o.DefaultNamespace(c, "hc-namespace", &o.namespace)
	f.StringVar(&o.infraID, "infra-id", "", "infra ID of the cluster, instead of the HostedCluster")
	f.StringVar(&o.issuer, "issuer", "", "issuer of the cluster, with --infra-id")
	return c
}

func (o *options) run(ctx context.Context, env operation.Environment) error {
	if (o.name == "") == (o.infraID == "") || (o.infraID == "") != (o.issuer == "") {
		return &operation.UsageError{Err: errors.New("either --hc-name, or --infra-id and --issuer are required")}
	}
	if o.name != "" {
		c, _, err := o.Client()
		if err != nil {
			return err
		}
		f := management.Cluster{Flags: o.Flags, Namespace: o.namespace, Name: o.name}
		hc, err := clustertree.FindHostedCluster(ctx, c, f.Key())
		if err != nil {
			return err
		}
		if o.infraID, o.issuer = hc.Spec.InfraID, hc.Spec.IssuerURL; o.infraID == "" || o.issuer == "" {
			return fmt.Errorf("HostedCluster %s has no infraID or no issuerURL yet", f.Key())
		}
	}
	cfg, err := o.Session.Config(ctx, env)
	if err != nil {
		return err
	}
	caller, err := awsgraph.CallerOf(ctx, cfg)
	if err != nil {
		return err
	}
	spec := clusteriam.Spec{InfraID: o.infraID, Region: cfg.Region, Account: caller.Account, Partition: caller.Partition, IssuerURL: o.issuer}
	part := operation.Part{
		State: o.infraID + "-oidc-provider-aws", Scope: map[string]string{"account": caller.Account, "infra ID": o.infraID},
		Nodes: []*rg.Node{clusteriam.NewCloud(cfg, spec.Owner()).ProviderNode(spec)},
	}
	if _, err := o.Apply(ctx, env, part); err != nil || o.Plan {
		return err
	}
	fmt.Fprintln(env.Err, "AWS may reject tokens for some minutes more; then the condition ValidAWSIdentityProvider of the HostedCluster becomes True")
	return nil
}

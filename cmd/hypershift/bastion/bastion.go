// Package bastion implements the commands `create bastion aws` and `destroy bastion aws`.
package bastion

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/bastion"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const long = `The instance has no open port and no key: the agent on it connects to Session Manager of AWS, and a session needs the permission
ssm:StartSession and the Session Manager plugin of the command line of AWS. It runs the newest image of Amazon Linux 2023, requires tokens for
its metadata, has an encrypted volume, and a role that may do nothing but run sessions.

It runs in the first private subnet of the cluster. A subnet without a route to the internet needs interface endpoints of ssm and ssmmessages.

The infra ID, the region and the address of the API server are those of the HostedCluster. With --infra-id no management cluster is needed, and
the name is only used in the printed commands. -o json prints the result as JSON.`

type options struct {
	run     operation.Options
	cluster management.Cluster
	spec    bastion.Spec
	tags    []string

	// host and port are the API server for the VPC.
	host string
	port int32
}

func state(infraID string) string { return infraID + "-bastion-aws" }

func (o *options) scope(caller awsgraph.Caller) map[string]string {
	return map[string]string{"account": caller.Account, "region": o.spec.Region, "infra ID": o.spec.InfraID}
}

// NewCreate returns `create bastion aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o options
	c := o.cluster.Command("aws", "Create an instance in the VPC of a cluster, which is reached through Session Manager", long, true, func(ctx context.Context) error { return o.create(ctx, env) })
	c.Example = "  hypershift create bastion aws demo\n  hypershift create bastion aws --infra-id demo-x7k2p --name demo --region us-east-1"
	o.run.Flags(c, false)
	f := c.Flags()
	f.StringVar(&o.spec.InfraID, "infra-id", "", "infra ID of the cluster, instead of its HostedCluster")
	f.StringVar(&o.spec.SubnetID, "subnet-id", "", "subnet of the instance (default: the first private subnet with the tag of the cluster)")
	f.StringVar(&o.spec.Arch, "arch", "amd64", "processor architecture of the instance: amd64 or arm64")
	f.StringVar(&o.spec.InstanceType, "instance-type", "", "type of the instance (default: t3.micro, or t4g.micro for arm64)")
	f.StringSliceVar(&o.tags, "additional-tags", nil, "tags of all resources, as key=value")
	return c
}

// NewDestroy returns `destroy bastion aws`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var o options
	c := o.cluster.Command("aws", "Delete the instance that `create bastion aws` has created, and what belongs to it",
		"The instance, its security group, its role and its instance profile are deleted. `destroy infra aws` and `destroy iam aws` delete them, too.",
		true, func(ctx context.Context) error { return o.destroy(ctx, env) })
	c.Example = "  hypershift destroy bastion aws demo\n  hypershift destroy bastion aws --infra-id demo-x7k2p --region us-east-1 --yes"
	o.run.Flags(c, true)
	c.Flags().StringVar(&o.spec.InfraID, "infra-id", "", "infra ID of the cluster, instead of its HostedCluster")
	return c
}

// privatePort is the port of the router of a control plane.
const privatePort = 443

// resolve reads the HostedCluster, unless its infra ID is given.
func (o *options) resolve(ctx context.Context) error {
	o.spec.Name, o.port = o.cluster.Name, privatePort
	if o.spec.Name != "" {
		o.host = names.LocalAPI(o.spec.Name)
	}
	switch {
	case o.spec.InfraID != "":
		return nil
	case o.cluster.Name == "":
		return &operation.UsageError{Err: errors.New("either the name of a HostedCluster or --infra-id is required")}
	}
	c, _, err := o.cluster.Client()
	if err != nil {
		return err
	}
	hc, err := clustertree.FindHostedCluster(ctx, c, o.cluster.Key())
	if err != nil {
		return err
	}
	aws := hc.Spec.Platform.AWS
	if aws == nil || hc.Spec.InfraID == "" {
		return fmt.Errorf("HostedCluster %s has no infra ID in AWS", o.cluster.Key())
	}
	o.spec.InfraID, o.run.Region = hc.Spec.InfraID, cmp.Or(o.run.Region, aws.Region)
	if o.spec.SubnetID == "" && aws.CloudProviderConfig != nil && aws.CloudProviderConfig.Subnet != nil && aws.CloudProviderConfig.Subnet.ID != nil {
		o.spec.SubnetID = *aws.CloudProviderConfig.Subnet.ID
	}
	if at := hc.Status.ControlPlaneEndpoint; at.Port != 0 {
		o.port = at.Port
		if aws.EndpointAccess == hyperv1.Public {
			o.host = at.Host
		}
	}
	return nil
}

func (o *options) create(ctx context.Context, env operation.Environment) error {
	var err error
	if o.spec.Tags, err = operation.ParseTags(o.tags); err != nil {
		return err
	}
	if err := o.resolve(ctx); err != nil {
		return err
	}
	if err := operation.Check(o.spec.Validate()); err != nil {
		return err
	}
	cfg, caller, err := o.run.ConfigAndCaller(ctx, env)
	if err != nil {
		return err
	}
	o.spec.Region = cfg.Region
	cloud := bastion.NewCloud(cfg, o.spec.Owner())
	place, err := cloud.Find(ctx, o.spec)
	if err != nil {
		return err
	}
	plan, err := o.run.Apply(ctx, env, operation.Part{State: state(o.spec.InfraID), Scope: o.scope(caller), Nodes: cloud.Nodes(o.spec, place)})
	if err != nil || o.run.Plan {
		return err
	}
	result := bastion.NewOutput(o.spec, place, plan.ID(bastion.Instance), o.host, o.port)
	if o.run.Output == "json" {
		return operation.WriteJSON(env.Out, result)
	}
	if _, err := fmt.Fprint(env.Out, result); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

func (o *options) destroy(ctx context.Context, env operation.Environment) error {
	if err := o.resolve(ctx); err != nil {
		return err
	}
	cfg, caller, err := o.run.ConfigAndCaller(ctx, env)
	if err != nil {
		return err
	}
	o.spec.Region = cfg.Region
	cloud := bastion.NewCloud(cfg, o.spec.Owner())
	return o.run.Destroy(ctx, env, operation.Search{State: state(o.spec.InfraID), Scope: o.scope(caller), Discover: func(ctx context.Context, _ func(string) bool) (operation.Finding, error) {
		graph, kept, err := cloud.Discover(ctx)
		return operation.Finding{Graph: graph, Remaining: kept}, err
	}})
}

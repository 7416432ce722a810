// Package clirole implements the commands `create iam cli-role` and `destroy iam cli-role`.
package clirole

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/commandlinerole"
)

const long = `The role has the policies in config/iam/commandline of the commands in --commands, for the cluster with the infra ID. Pass it to them as
--role-arn. By default each user of the account may assume it whose own policies allow sts:AssumeRole; --trusted-arn names users, roles or
accounts instead. The role may create roles with the names of the cluster, and so give permissions that it does not have.`

type options struct {
	operation.Options
	spec commandlinerole.Spec
	tags []string
}

func state(s commandlinerole.Spec) string { return s.RoleName() + "-role-aws" }

func scope(s commandlinerole.Spec) map[string]string {
	return map[string]string{"account": s.Account, "role": s.RoleName()}
}

func (o *options) nameFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.spec.InfraID, "infra-id", "", "infra ID of the cluster (required)")
	c.Flags().StringVar(&o.spec.Name, "name", "", "name of the role (default: hypershift-cli-<infra-id>)")
}

// NewCreate returns `create iam cli-role`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o options
	c := operation.Command("cli-role", "Create a role with which this command line works on one cluster", long, func(ctx context.Context) error { return o.create(ctx, env) })
	c.Example = "  hypershift create iam cli-role --infra-id demo-x7k2p\n  hypershift create iam cli-role --infra-id demo-x7k2p --commands doctor,create-bastion,destroy-bastion --name bastions --trusted-arn arn:aws:iam::222222222222:role/support"
	o.Flags(c, false)
	o.nameFlags(c)
	f := c.Flags()
	f.StringSliceVar(&o.spec.Commands, "commands", commandlinerole.Commands, "policies of the role: names of files in config/iam/commandline")
	f.StringSliceVar(&o.spec.Trusted, "trusted-arn", nil, "ARNs of the principals that may assume the role (default: the account)")
	f.StringVar(&o.spec.Bucket, "oidc-storage-provider-s3-bucket-name", "", "bucket, for create-oidc-bucket and destroy-oidc-bucket in --commands")
	f.StringVar(&o.spec.NamePrefix, "name-prefix", "", "prefix of the roles, for create-operator-roles and destroy-operator-roles in --commands")
	f.StringSliceVar(&o.tags, "additional-tags", nil, "tags of the role, as key=value")
	return c
}

func (o options) create(ctx context.Context, env operation.Environment) error {
	cfg, caller, err := o.Begin(ctx, env, o.tags, func(tags awsx.Tags) field.ErrorList {
		o.spec.Tags = tags
		return o.spec.Validate()
	})
	if err != nil {
		return err
	}
	o.spec.Account, o.spec.Partition = caller.Account, caller.Partition
	part := operation.Part{State: state(o.spec), Scope: scope(o.spec), Nodes: commandlinerole.Nodes(cfg, o.spec)}
	if _, err := o.Apply(ctx, env, part); err != nil || o.Plan {
		return err
	}
	return operation.Result(env, "", commandlinerole.NewOutput(o.spec))
}

// NewDestroy returns `destroy iam cli-role`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var o options
	c := operation.Command("cli-role", "Delete the role that `create iam cli-role` has created", "", func(ctx context.Context) error { return o.destroy(ctx, env) })
	c.Example = "  hypershift destroy iam cli-role --infra-id demo-x7k2p"
	o.Flags(c, true)
	o.nameFlags(c)
	return c
}

func (o options) destroy(ctx context.Context, env operation.Environment) error {
	o.spec.Commands = commandlinerole.Commands // for the validation of the names
	if err := operation.Check(o.spec.Validate()); err != nil {
		return err
	}
	cfg, caller, err := o.ConfigAndCaller(ctx, env)
	if err != nil {
		return err
	}
	o.spec.Account, o.spec.Partition = caller.Account, caller.Partition
	return o.Destroy(ctx, env, operation.Search{State: state(o.spec), Scope: scope(o.spec), Discover: func(ctx context.Context, _ func(string) bool) (operation.Finding, error) {
		graph, kept, err := commandlinerole.Discover(ctx, cfg, o.spec)
		return operation.Finding{Graph: graph, Remaining: kept}, err
	}})
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/iam"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/infra"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/leftovers"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
)

const destroyLong = `Deletes the HostedCluster and waits for its operators, which need the roles to delete what they have created in both accounts. Then it
deletes the roles, the network, and the Secrets that the cluster alone uses, and lists what is left. If the command ends early for any reason, the same
command continues, also on another machine: the HostedCluster has a finalizer until all is deleted.`

type destroyOptions struct {
	operation.Session
	vpcOwner                     operation.VPCOwner
	management                   management.Flags
	plan, verbose, yes           bool
	namespace, name, infraID     string
	baseDomain, baseDomainPrefix string
	grace                        time.Duration
	managementRole               string
	preserveIAM, preserveInfra   bool
}

// NewDestroy returns `destroy cluster aws`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var o destroyOptions
	c := operation.Command("aws", "Delete a cluster on AWS, with its network and its roles", destroyLong, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift destroy cluster aws --name demo --plan"
	o.Session.AddFlags(c)
	o.vpcOwner.Flags(c)
	o.management.Add(c)
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "name of the cluster, instead of the argument (required)")
	o.management.AddNamespace(c, &o.namespace, "namespace of the HostedCluster")
	o.management.AcceptCluster(c, &o.namespace, &o.name)
	f.StringVar(&o.infraID, "infra-id", "", "infra ID, if neither the HostedCluster nor the state of an earlier command exists")
	f.StringVar(&o.baseDomain, "base-domain", "", "domain of the cluster, for the same case: it finds private zones without a VPC")
	f.StringVar(&o.baseDomainPrefix, "base-domain-prefix", "", "prefix of the private zone in the base domain, for the same case")
	f.DurationVar(&o.grace, "cluster-grace-period", 30*time.Minute, "limit for the deletion of the HostedCluster (0: none)")
	f.BoolVar(&o.preserveIAM, "preserve-iam", false, "keep the roles and the identity provider")
	f.BoolVar(&o.preserveInfra, "preserve-infra", false, "keep the network and the hosted zones")
	f.StringVar(&o.managementRole, "management-role-arn", "", "role in the management account, to look there, too, for what is left")
	f.BoolVar(&o.plan, "plan", false, "print what would be deleted, and make no writing call")
	f.BoolVarP(&o.verbose, "verbose", "v", false, operation.VerboseUsage)
	f.BoolVarP(&o.yes, "yes", "y", false, "delete without asking")
	return c
}

func (o *destroyOptions) run(ctx context.Context, env operation.Environment) error {
	if o.name == "" {
		return &operation.UsageError{Err: errors.New("--name: Required value")}
	}
	m, err := o.management.Connect()
	if err != nil {
		return err
	}
	d, err := o.resolve(ctx, env, m)
	if err != nil {
		return err
	}
	if o.plan {
		return d.plan(ctx, env)
	}
	for _, obj := range d.objects {
		fmt.Fprintf(env.Err, "- %s\n", title(obj))
	}
	question := fmt.Sprintf("Delete cluster %s/%s and everything of infra ID %s in %s, region %s?", o.namespace, o.name, d.InfraID, d.accounts, d.Region)
	if err := operation.Confirm(env, o.yes, question); err != nil {
		return err
	}
	return d.run(ctx, env)
}

// run deletes the cluster. Each step finds what an earlier run has deleted already.
func (d *destruction) run(ctx context.Context, env operation.Environment) error {
	for _, step := range []func(context.Context, operation.Environment) error{
		d.saveRecord, d.deleteHostedCluster, d.deleteAWS, d.deleteContents, d.findLeftovers, d.release, d.removeRecord,
	} {
		if err := step(ctx, env); err != nil {
			return err
		}
	}
	for _, l := range d.leftBehind {
		fmt.Fprintf(env.Err, "not deleted by the operators: %s\n", l)
	}
	if d.remaining || len(d.leftBehind) > 0 {
		return operation.ErrRemaining
	}
	fmt.Fprintf(env.Err, "cluster %s/%s is deleted\n", d.namespace, d.name)
	return nil
}

// plan prints the objects and resources to delete.
func (d *destruction) plan(ctx context.Context, env operation.Environment) error {
	for _, obj := range d.objects {
		fmt.Fprintf(env.Out, "- %s\n", title(obj))
	}
	err := d.deleteAWS(ctx, env)
	if err == nil && len(d.objects) > 0 {
		err = operation.ErrChanges
	}
	if err == nil && d.remaining {
		err = operation.ErrRemaining
	}
	return err
}

// saveRecord: the HostedCluster may be gone, without our finalizer, before the rest is.
func (d *destruction) saveRecord(_ context.Context, env operation.Environment) error {
	return d.save(env, d.namespace, d.name)
}

func (d *destruction) removeRecord(_ context.Context, env operation.Environment) error {
	return removeRecord(env, d.namespace, d.name)
}

// deleteAWS deletes the roles and the network, or prints the plan.
func (d *destruction) deleteAWS(ctx context.Context, env operation.Environment) error {
	var searches []operation.Search
	if !d.preserveIAM {
		roles, err := iam.Search(ctx, env, d.Session, d.vpcOwner, d.InfraID)
		if err != nil {
			return err
		}
		searches = append(searches, roles)
	}
	if !d.preserveInfra {
		network, err := infra.Search(ctx, env, d.Session, d.vpcOwner, d.network())
		if err != nil {
			return err
		}
		searches = append(searches, network)
	}
	if len(searches) == 0 {
		return nil
	}
	options := operation.Options{Plan: d.destroyOptions.plan, Verbose: d.verbose, Yes: true, Output: "text", Part: true, Session: d.Session}
	err := options.Destroy(ctx, env, searches...)
	if errors.Is(err, operation.ErrRemaining) {
		d.remaining, err = true, nil
	}
	return err
}

// network returns the known part of the network's spec.
func (d *destruction) network() awsinfra.Spec {
	return awsinfra.Spec{InfraID: d.InfraID, Name: d.name, BaseDomain: d.BaseDomain, BaseDomainPrefix: d.BaseDomainPrefix}
}

// deleteContents deletes the Secrets and ConfigMaps that only the cluster uses.
func (d *destruction) deleteContents(ctx context.Context, env operation.Environment) error {
	objects, err := d.contents(ctx)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if err := d.m.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", title(obj), err)
		}
		fmt.Fprintf(env.Err, "deleted %s\n", title(obj))
	}
	return nil
}

// findLeftovers prints what is left in the accounts.
func (d *destruction) findLeftovers(ctx context.Context, env operation.Environment) error {
	if d.preserveIAM || d.preserveInfra {
		return nil
	}
	found, err := leftovers.Report(ctx, env, d.Session, d.vpcOwner, d.managementRole, d.network())
	if err != nil {
		return fmt.Errorf("looking for what is left: %w", err)
	}
	if found > 0 {
		fmt.Fprintf(env.Err, "`hypershift leftovers aws --infra-id %s --delete` deletes them\n", d.InfraID)
		d.remaining = true
	}
	return nil
}

package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/iam"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/infra"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/nodepool"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
)

const createLong = `Creates the network, the roles and the objects of a cluster. The checks of the operator and of the API server come first, before
anything is created in AWS. If the command ends early for any reason, the same command continues.

With --infra-json and --iam-json nothing is created in AWS. With --render, too, nothing is created at all: the objects are printed.`

type createOptions struct {
	flags
	operation.Session
	management        management.Flags
	Plan, Verbose     bool
	wait              bool
	timeout           time.Duration
	render, sensitive bool
	renderInto        string
	operatorNamespace string
	// ignoreFailed: checks that have failed are warnings. continued: an earlier run has created a part.
	ignoreFailed, continued bool
}

// NewCreate returns `create cluster aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o createOptions
	c := operation.Command("aws", "Create a cluster on AWS, with its network and its roles", createLong, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift create cluster aws --name demo --base-domain example.com --zones us-east-1a,us-east-1b,us-east-1c --release-image registry.example.com/release:1.36.3 --wait"
	o.flags.add(c)
	o.Session.AddFlags(c)
	o.management.Add(c)
	o.management.AddNamespace(c, &o.cluster.Namespace, "namespace of the HostedCluster")
	o.management.AcceptCluster(c, &o.cluster.Namespace, &o.cluster.Name)
	f := c.Flags()
	f.BoolVar(&o.Plan, "plan", false, "print what would be created or changed, and make no writing call")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, operation.VerboseUsage)
	f.BoolVar(&o.wait, "wait", false, "wait until the cluster is available and all nodes are ready")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "limit for --wait (0: none)")
	f.BoolVar(&o.ignoreFailed, "ignore-failed-checks", false, "create the cluster although a check of the account has failed")
	f.StringVar(&o.operatorNamespace, "operator-namespace", "hypershift", "namespace of the hypershift-operator, for the checks")
	f.BoolVar(&o.render, "render", false, "print the objects instead of creating them (needs --infra-json and --iam-json)")
	f.StringVar(&o.renderInto, "render-into", "", "file for the objects, instead of creating them")
	f.BoolVar(&o.sensitive, "render-sensitive", false, "print the Secrets, too")
	return c
}

func (o *createOptions) run(ctx context.Context, env operation.Environment) error {
	if err := o.complete(); err != nil {
		return err
	}
	if o.renders() {
		return o.print(env)
	}
	began := env.Clock.Now()
	if o.cluster.Name == "" {
		return operation.Check(o.cluster.Validate())
	}
	cfg, err := o.config(ctx, env)
	if err != nil {
		return err
	}
	m, err := o.management.Connect()
	if err != nil {
		return err
	}
	if err := o.identify(ctx, env, m); err != nil {
		return err
	}
	if err := o.issuer(ctx, m, cfg.Region); err != nil {
		return err
	}
	if err := o.check(ctx, env, m); err != nil {
		return err
	}
	if !o.cluster.WithoutPools && (o.infraJSON == "" || o.iamJSON == "") {
		if err := nodepool.CheckInstanceType(ctx, env, cfg, o.cluster.Pool); err != nil {
			return err
		}
	}
	if err := o.prerequisites(ctx, env, m, cfg); err != nil {
		return err
	}
	if err := o.accounts(ctx, env, cfg); err != nil {
		return err
	}
	if o.Plan {
		return o.plan(ctx, env, cfg, m)
	}
	// The infraID is recorded before anything carries it.
	if err := o.record(m).save(env, o.cluster.Namespace, o.cluster.Name); err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "cluster %s/%s has infra ID %s\n", o.cluster.Namespace, o.cluster.Name, o.network.InfraID)
	if err := o.createAWS(ctx, env, cfg); err != nil {
		return err
	}
	for _, obj := range o.cluster.Objects() {
		if err := o.createObject(ctx, env, m, obj); err != nil {
			return err
		}
	}
	if !o.wait {
		return nil
	}
	err = management.Wait(ctx, env, o.timeout, func(ctx context.Context) (clusterprogress.Progress, error) {
		hc, err := m.HostedCluster(ctx, o.cluster.Namespace, o.cluster.Name)
		if err != nil {
			return clusterprogress.Progress{}, err
		}
		pools, err := m.NodePools(ctx, o.cluster.Namespace, o.cluster.Name)
		return clusterprogress.Creation(hc, pools), err
	})
	if err != nil {
		return err
	}
	next := fmt.Sprintf("hypershift create kubeconfig %s --namespace %s", o.cluster.Name, o.cluster.Namespace)
	if o.cluster.EndpointAccess == hyperv1.Private {
		next += " --port-forward"
	}
	fmt.Fprintf(env.Err, "cluster %s/%s is ready after %s; next: %s\n", o.cluster.Namespace, o.cluster.Name, env.Clock.Since(began).Round(time.Second), next)
	return nil
}

// createAWS creates the resources that are not given by JSON.
func (o *createOptions) createAWS(ctx context.Context, env operation.Environment, cfg aws.Config) error {
	options := operation.Options{Output: "text", Session: o.Session}
	if o.infraJSON == "" {
		created, err := infra.Ensure(ctx, env, options, o.vpcOwner, cfg, o.network)
		if err != nil {
			return err
		}
		o.cluster.Infra = created
	}
	if o.iamJSON == "" {
		o.roles.Inputs = inputs(o.cluster.Infra)
		created, err := iam.Ensure(ctx, env, options, o.vpcOwner, cfg, o.roles)
		if err != nil {
			return err
		}
		o.cluster.IAM = created
	}
	return nil
}

func inputs(output awsinfra.Output) clusteriam.Inputs {
	return clusteriam.Inputs{
		VPC: clusteriam.Input{ID: output.VPCID}, PublicZone: clusteriam.Input{ID: output.PublicZoneID},
		PrivateZone: clusteriam.Input{ID: output.PrivateZoneID}, LocalZone: clusteriam.Input{ID: output.LocalZoneID},
	}
}

package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
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
	// ignoreFailed: checks that have failed are warnings.
	ignoreFailed bool
}

// NewCreate returns `create cluster aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o createOptions
	c := operation.Command("aws", "Create a cluster on AWS, with its network and its roles", createLong, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift create cluster aws --name demo --base-domain example.com --zones us-east-1a,us-east-1b,us-east-1c --release-image registry.example.com/release:1.37.2 --wait"
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
	r, err := o.request()
	if err != nil {
		return err
	}
	if o.renders() {
		return o.print(env, r)
	}
	if r.Cluster.Name == "" {
		return operation.Check(r.Cluster.Validate())
	}
	began := env.Clock.Now()
	cfg, err := o.config(ctx, env, r.Network.Region)
	if err != nil {
		return err
	}
	m, err := o.management.Connect()
	if err != nil {
		return err
	}
	t, err := resolve(ctx, env, m, cfg, o.Session, r)
	if err != nil {
		return err
	}
	if err := o.check(ctx, env, m, t); err != nil {
		return err
	}
	if t, err = o.locate(ctx, env, m, t); err != nil {
		return err
	}
	if o.Plan {
		return t.plan(ctx, env, m, o.Verbose)
	}
	if err := t.apply(ctx, env, m); err != nil || !o.wait {
		return err
	}
	return o.await(ctx, env, m, t.Cluster, began)
}

// await waits until the cluster is available and all nodes are ready.
func (o *createOptions) await(ctx context.Context, env operation.Environment, m *management.API, c clustermanifests.Cluster, began time.Time) error {
	err := management.Wait(ctx, env, o.timeout, func(ctx context.Context) (clusterprogress.Progress, error) {
		hc, err := m.HostedCluster(ctx, c.Namespace, c.Name)
		if err != nil {
			return clusterprogress.Progress{}, err
		}
		pools, err := m.NodePools(ctx, c.Namespace, c.Name)
		return clusterprogress.Creation(hc, pools), err
	})
	if err != nil {
		return err
	}
	next := fmt.Sprintf("hypershift create kubeconfig %s --namespace %s", c.Name, c.Namespace)
	if c.EndpointAccess == hyperv1.Private {
		next += " --port-forward"
	}
	fmt.Fprintf(env.Err, "cluster %s/%s is ready after %s; next: %s\n", c.Namespace, c.Name, env.Clock.Since(began).Round(time.Second), next)
	return nil
}

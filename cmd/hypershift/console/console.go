// Package console implements the command `console`.
package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/cli/browser"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/doctor"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/leftovers"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/web"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
)

const long = `The pages are served on this machine only, with the rights of your kubeconfig, until you press Ctrl-C. The printed address has a token:
other users of this machine cannot open it. Everything is read; Secrets never are.

--aws adds the resources in the account of your AWS credentials. --allow-changes adds buttons that pause, resume and upgrade a cluster.`

type options struct {
	management.Flags
	operation.Session
	namespace, operatorNamespace string
	port                         int
	aws, changes, quiet          bool
}

// New returns `console`.
func New(env operation.Environment) *cobra.Command {
	var o options
	c := operation.Command("console", "Show all hosted clusters in a browser, from both AWS accounts", long, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift console\n  hypershift console --aws --region us-east-1\n  hypershift console --namespace team-a"
	o.Flags.Add(c)
	o.Session.AddFlags(c)
	f := c.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "", "only the HostedClusters of this namespace (default: all namespaces, or that of the context if your rights do not include all)")
	f.StringVar(&o.operatorNamespace, "operator-namespace", "hypershift", "namespace of the hypershift-operator")
	f.IntVar(&o.port, "port", 8099, "port on 127.0.0.1; 0 for any free port")
	f.BoolVar(&o.aws, "aws", false, "show resources in the account of your AWS credentials, too")
	f.BoolVar(&o.changes, "allow-changes", false, "add buttons that pause, resume and upgrade a cluster with your rights")
	f.BoolVar(&o.quiet, "no-browser", false, "only print the address")
	return c
}

func (o *options) run(ctx context.Context, env operation.Environment) error {
	if o.port < 0 || o.port > 65535 {
		return &operation.UsageError{Err: errors.New("--port must be from 0 to 65535")}
	}
	api, config, err := o.Client()
	if err != nil {
		return err
	}
	store, err := o.start(ctx, env, config)
	if err != nil {
		return err
	}
	model, err := web.NewModel(ctx, store)
	if err != nil {
		return err
	}
	server := web.NewServer(o.pages(env, api, config), model)
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("%w: another console may use the port; pass --port 0 for a free one", err)
	}
	return server.Serve(ctx, listener, func(address string) {
		fmt.Fprintf(env.Out, "%s\n", address)
		fmt.Fprintln(env.Err, "press Ctrl-C to end the console")
		if !o.quiet && env.Terminal {
			// The address is printed: without a browser, the user opens it elsewhere.
			_ = browser.OpenURL(address)
		}
	})
}

// start reads all HostedClusters. A tenant who may not list all namespaces gets those of a namespace.
func (o *options) start(ctx context.Context, env operation.Environment, config *rest.Config) (*watch.Store, error) {
	store, err := watch.Start(ctx, config, watch.Options{Namespace: o.namespace, Clock: env.Clock})
	var forbidden *watch.ForbiddenError
	if !errors.As(err, &forbidden) {
		return store, err
	}
	namespace := o.ContextNamespace()
	if namespace == "" {
		return nil, fmt.Errorf("%w: pass --namespace with the namespace of your HostedClusters", err)
	}
	return watch.Start(ctx, config, watch.Options{Namespace: namespace, Clock: env.Clock})
}

func (o *options) pages(env operation.Environment, api client.Client, config *rest.Config) web.Options {
	checks := doctor.Checks{Client: api, Config: config, OperatorNamespace: o.operatorNamespace}
	pages := web.Options{Clock: env.Clock, Title: o.Title(config)}
	if o.aws {
		checks.Session, checks.Account = &o.Session, true
		pages.Leftovers = func(ctx context.Context, infraID string) (web.Account, error) { return o.leftovers(ctx, env, infraID) }
	}
	pages.Doctor = func(ctx context.Context, cluster types.NamespacedName) ([]prerequisites.Result, error) {
		return checks.Run(ctx, env, cluster)
	}
	if o.changes {
		pages.Change = func(ctx context.Context, cluster types.NamespacedName, change web.Change) error {
			return apply(ctx, api, cluster, change)
		}
	}
	return pages
}

func (o *options) leftovers(ctx context.Context, env operation.Environment, infraID string) (web.Account, error) {
	cfg, caller, err := o.ConfigAndCaller(ctx, env)
	if err != nil {
		return web.Account{}, err
	}
	account := web.Account{ID: caller.Account, Region: cfg.Region}
	if infraID == "" {
		account.Clusters, err = leftovers.Clusters(ctx, cfg)
		return account, err
	}
	found, err := leftovers.Find(ctx, cfg, awsgraph.Owner{InfraID: infraID})
	account.Resources = found.Resources
	return account, err
}

// apply changes a HostedCluster. A change of its release is first made as a dry run, which admission checks.
func apply(ctx context.Context, api client.Client, cluster types.NamespacedName, change web.Change) error {
	spec := map[string]any{}
	switch {
	case change.Pause:
		spec["pausedUntil"] = "true"
	case change.Resume:
		spec["pausedUntil"] = nil
	case change.Release != "":
		spec["release"] = map[string]any{"image": change.Release}
	}
	text, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return fmt.Errorf("changing HostedCluster %s: %w", cluster, err)
	}
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = cluster.Namespace, cluster.Name
	patch := client.RawPatch(types.MergePatchType, text)
	if err := api.Patch(ctx, hc.DeepCopy(), patch, client.DryRunAll); err != nil {
		return fmt.Errorf("changing HostedCluster %s, as a dry run: %w", cluster, err)
	}
	if err := api.Patch(ctx, hc, patch); err != nil {
		return fmt.Errorf("changing HostedCluster %s: %w", cluster, err)
	}
	return nil
}

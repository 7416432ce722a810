// Package management defines the flags with which commands reach the management cluster, and name a HostedCluster there.
package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

// Flags select the management cluster.
type Flags struct {
	Kubeconfig, Context string
}

// Add adds the flags to a command.
func (f *Flags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: $KUBECONFIG, else ~/.kube/config)")
	c.Flags().StringVar(&f.Context, "context", "", "context of that kubeconfig (default: the current one)")
	_ = c.RegisterFlagCompletionFunc("context", f.contexts) // fails only for a flag that does not exist
}

// defaultNamespace is the namespace of HostedClusters if neither a flag nor the context of the kubeconfig has one.
const defaultNamespace = "clusters"

// AddNamespace adds the flag --namespace to a command.
func (f *Flags) AddNamespace(c *cobra.Command, namespace *string, usage string) {
	c.Flags().StringVarP(namespace, "namespace", "n", "", usage+NamespaceDefault)
	f.DefaultNamespace(c, "namespace", namespace)
}

// NamespaceDefault is the part of the description of a flag that DefaultNamespace completes.
const NamespaceDefault = " (default: that of the context, else " + defaultNamespace + ")"

// DefaultNamespace gives a flag for the namespace its default and its completion.
func (f *Flags) DefaultNamespace(c *cobra.Command, flag string, namespace *string) {
	_ = c.RegisterFlagCompletionFunc(flag, f.namespaces) // as above
	c.PreRun = func(*cobra.Command, []string) {
		*namespace = cmp.Or(*namespace, f.ContextNamespace(), defaultNamespace)
	}
}

// ContextNamespace returns the namespace of the context, or "" without one. Some commands need no kubeconfig.
func (f *Flags) ContextNamespace() string {
	_, loader := f.loader()
	raw, err := loader.RawConfig()
	if err != nil {
		return ""
	}
	if current := raw.Contexts[cmp.Or(f.Context, raw.CurrentContext)]; current != nil {
		return current.Namespace
	}
	return ""
}

// Title names the management cluster for people: the context, or the address of config.
func (f *Flags) Title(config *rest.Config) string {
	_, loader := f.loader()
	raw, err := loader.RawConfig()
	if err != nil {
		return config.Host
	}
	return cmp.Or(f.Context, raw.CurrentContext, config.Host)
}

func (f *Flags) loader() (*clientcmd.ClientConfigLoadingRules, clientcmd.ClientConfig) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	return rules, clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context})
}

// Config returns the connection. It makes no call.
func (f *Flags) Config() (*rest.Config, error) {
	rules, loader := f.loader()
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, &operation.UsageError{Err: fmt.Errorf("there is no kubeconfig of the management cluster at %s: pass --kubeconfig, or set KUBECONFIG", strings.Join(rules.GetLoadingPrecedence(), ", "))}
	}
	if err != nil {
		return nil, &operation.UsageError{Err: fmt.Errorf("reading the kubeconfig of the management cluster: %w", err)}
	}
	config.UserAgent = "hypershift-cli"
	// Warnings of the API server are about fields and versions that this program uses on purpose.
	config.WarningHandler = rest.NoWarnings{}
	// The limits of client-go are for controllers. A command makes some dozens of calls and ends.
	config.QPS, config.Burst = 50, 100
	return config, nil
}

// Client returns a client that reads from the API server, without a cache.
func (f *Flags) Client() (client.Client, *rest.Config, error) {
	config, err := f.Config()
	if err != nil {
		return nil, nil, err
	}
	c, err := newClient(config)
	return c, config, err
}

func newClient(config *rest.Config) (client.Client, error) {
	c, err := client.New(config, client.Options{Scheme: clustertree.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	return c, nil
}

// Cluster are the flags that select a HostedCluster.
type Cluster struct {
	Flags
	Namespace, Name string
}

// Add adds the flags to a command. The name may also be its argument.
func (f *Cluster) Add(c *cobra.Command) {
	f.Flags.Add(c)
	f.AddNamespace(c, &f.Namespace, "namespace of the HostedCluster")
	c.Flags().StringVar(&f.Name, "name", "", "name of the HostedCluster, instead of the argument")
}

// Key returns the HostedCluster.
func (f *Cluster) Key() client.ObjectKey {
	return client.ObjectKey{Namespace: f.Namespace, Name: f.Name}
}

// Command returns a command about one HostedCluster. optional: without a name it is about all.
func (f *Cluster) Command(use, short, long string, optional bool, run func(context.Context) error) *cobra.Command {
	argument := " NAME"
	if optional {
		argument = " [NAME]"
	}
	c := operation.Command(use+argument, short, long, run)
	c.Args, c.ValidArgsFunction = nameArgument(&f.Name, "HostedCluster", !optional), f.Names(&hyperv1.HostedClusterList{}, &f.Namespace)
	f.Add(c)
	return c
}

// AcceptCluster lets the name of a HostedCluster be the argument of a command, instead of the flag --name.
func (f *Flags) AcceptCluster(c *cobra.Command, namespace, name *string) {
	c.Use += " [NAME]"
	c.Args, c.ValidArgsFunction = nameArgument(name, "HostedCluster", false), f.Names(&hyperv1.HostedClusterList{}, namespace)
}

// AcceptPool lets the name of a NodePool be the argument of a command, instead of the flag --name.
func (f *Flags) AcceptPool(c *cobra.Command, namespace, name *string) {
	c.Use += " [NAME]"
	c.Args, c.ValidArgsFunction = nameArgument(name, "NodePool", false), f.Names(&hyperv1.NodePoolList{}, namespace)
}

func nameArgument(name *string, kind string, required bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return fmt.Errorf("one name is accepted, not %d", len(args))
		case len(args) == 1 && *name != "" && *name != args[0]:
			return errors.New("the argument and --name differ")
		case len(args) == 1:
			*name = args[0]
		case *name == "" && required:
			return fmt.Errorf("the name of the %s is required", kind)
		}
		return nil
	}
}

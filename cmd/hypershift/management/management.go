// Package management has the flags with which commands reach the management cluster, and name a HostedCluster there.
package management

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/clustertree"
)

// Flags select the management cluster.
type Flags struct {
	Kubeconfig, Context string
}

// Add adds the flags to a command.
func (f *Flags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: $KUBECONFIG, else ~/.kube/config)")
	c.Flags().StringVar(&f.Context, "context", "", "context of that kubeconfig (default: the current one)")
}

// Config returns the connection. It makes no call.
func (f *Flags) Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, &operation.UsageError{Err: fmt.Errorf("there is no kubeconfig of the management cluster at %s: pass --kubeconfig, or set KUBECONFIG", strings.Join(rules.GetLoadingPrecedence(), ", "))}
	}
	if err != nil {
		return nil, &operation.UsageError{Err: fmt.Errorf("reading the kubeconfig of the management cluster: %w", err)}
	}
	config.UserAgent = "hypershift-cli"
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
	c.Flags().StringVarP(&f.Namespace, "namespace", "n", "clusters", "namespace of the HostedCluster")
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
	c.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return fmt.Errorf("one name is accepted, not %d", len(args))
		case len(args) == 1 && f.Name != "" && f.Name != args[0]:
			return errors.New("the argument and --name differ")
		case len(args) == 1:
			f.Name = args[0]
		case f.Name == "" && !optional:
			return errors.New("the name of the HostedCluster is required")
		}
		return nil
	}
	f.Add(c)
	return c
}

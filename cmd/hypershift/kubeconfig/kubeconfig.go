// Package kubeconfig implements the command `create kubeconfig`.
package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusteraccess"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/portforward"
)

const long = `The kubeconfig is that of the administrator. Its context is <namespace>-<name>. Without a name, the kubeconfig has all hosted
clusters of the management cluster.

With --role, the hypershift-operator issues a kubeconfig for the user that expires: of an administrator, or of a viewer who reads
everything but Secrets. The operator records it as an event of the HostedCluster.

With --port-forward, the kubeconfig uses a port of this machine, which the command forwards to the API server through the management
cluster until it is interrupted. This needs neither DNS nor a route to the API server, so that it works for private clusters.`

type options struct {
	management.Cluster
	merge       bool
	outputFile  string
	portForward bool
	port        int
	role        string
	expiration  time.Duration
}

// roles are the kubeconfigs that the operator issues.
var roles = map[string]accessv1alpha1.Subresource{"admin": accessv1alpha1.AdminKubeconfig, "viewer": accessv1alpha1.ViewerKubeconfig}

// New returns `create kubeconfig`.
func New(env operation.Environment) *cobra.Command {
	var o options
	c := o.Command("kubeconfig", "Print or merge the kubeconfig of a hosted cluster", long, true, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift create kubeconfig demo > demo.kubeconfig\n" +
		"  hypershift create kubeconfig demo --merge && kubectl --context clusters-demo get nodes\n" +
		"  hypershift create kubeconfig demo --role viewer --expiration 8h --output-file demo.kubeconfig\n" +
		"  hypershift create kubeconfig demo --port-forward --output-file demo.kubeconfig"
	c.Flags().BoolVar(&o.merge, "merge", false, "add it to $KUBECONFIG or ~/.kube/config, or to --output-file, whose current context stays")
	c.Flags().StringVar(&o.outputFile, "output-file", "", "file for the kubeconfig (default: standard output)")
	c.Flags().StringVar(&o.role, "role", "", "admin or viewer: a kubeconfig that expires (default: that of the administrator, which the namespace of the HostedCluster has)")
	c.Flags().DurationVar(&o.expiration, "expiration", accessv1alpha1.DefaultExpiration, "how long the kubeconfig of --role is valid, from 10m to 24h")
	c.Flags().BoolVar(&o.portForward, "port-forward", false, "use a forwarded port of this machine, and forward it until interrupted")
	c.Flags().IntVar(&o.port, "port", 0, "port for --port-forward (default: a free one)")
	return c
}

func (o *options) check() error {
	switch {
	case o.port != 0 && !o.portForward:
		return errors.New("--port needs --port-forward")
	case o.port < 0 || o.port > 65535:
		return errors.New("--port must be a port")
	case o.portForward && o.Name == "":
		return errors.New("--port-forward needs the name of a HostedCluster")
	case o.role != "" && roles[o.role] == "":
		return errors.New("--role must be admin or viewer")
	case o.role != "" && o.Name == "":
		return errors.New("--role needs the name of a HostedCluster")
	case o.expiration < accessv1alpha1.MinExpiration || o.expiration > accessv1alpha1.MaxExpiration:
		return errors.New("--expiration must be from 10m to 24h")
	}
	return nil
}

func (o *options) run(ctx context.Context, env operation.Environment) error {
	if err := o.check(); err != nil {
		return &operation.UsageError{Err: err}
	}
	c, config, err := o.Client()
	if err != nil {
		return err
	}
	if o.Name == "" {
		all, err := o.all(ctx, env, c)
		if err != nil {
			return err
		}
		return o.write(env, all)
	}
	hc, err := clustertree.FindHostedCluster(ctx, c, o.Key())
	if err != nil {
		return err
	}
	generated, err := o.kubeconfig(ctx, env, c, config, hc)
	if err != nil {
		return err
	}
	if !o.portForward {
		if hc.Spec.Platform.AWS != nil && hc.Spec.Platform.AWS.EndpointAccess == hyperv1.Private {
			fmt.Fprintln(env.Err, "the cluster is private: this kubeconfig works in its VPC only. Elsewhere, use --port-forward")
		}
		return o.write(env, generated)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("opening the port of --port-forward: %w", err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	if err := clusteraccess.Forwarded(generated, port); err != nil {
		return err
	}
	if err := o.write(env, generated); err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "forwarding 127.0.0.1:%d to the API server of %s until interrupted\n", port, o.Key())
	return portforward.Serve(ctx, listener, func(ctx context.Context) (net.Conn, error) {
		return clusteraccess.Dial(ctx, c, config, o.Key())
	}, func(err error) { fmt.Fprintf(env.Err, "%s %v\n", env.Clock.Now().UTC().Format("15:04:05"), err) })
}

// kubeconfig returns the kubeconfig of one hosted cluster.
func (o *options) kubeconfig(ctx context.Context, env operation.Environment, c client.Client, config *rest.Config, hc *hyperv1.HostedCluster) (*clientcmdapi.Config, error) {
	if o.role == "" {
		generated, err := clusteraccess.Kubeconfig(ctx, c, hc)
		if apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("%w: with --role viewer, no permission for Secrets is needed", err)
		}
		return generated, err
	}
	generated, until, err := clusteraccess.Request(ctx, config, client.ObjectKeyFromObject(hc), roles[o.role], o.expiration)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(env.Err, "the kubeconfig is valid until %s\n", until.UTC().Format(time.RFC3339))
	return generated, nil
}

// all returns the kubeconfigs of all hosted clusters in one.
func (o *options) all(ctx context.Context, env operation.Environment, c client.Client) (*clientcmdapi.Config, error) {
	list := &hyperv1.HostedClusterList{}
	if err := c.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing HostedClusters: %w", err)
	}
	all := clientcmdapi.NewConfig()
	for i := range list.Items {
		generated, err := clusteraccess.Kubeconfig(ctx, c, &list.Items[i])
		if errors.Is(err, clusteraccess.ErrNoKubeconfig) {
			fmt.Fprintf(env.Err, "left out: %v\n", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		name := generated.CurrentContext
		all.Clusters[name], all.Contexts[name], all.AuthInfos[name+"-admin"] = generated.Clusters[name], generated.Contexts[name], generated.AuthInfos[name+"-admin"]
	}
	if len(all.Contexts) == 0 {
		return nil, errors.New("no HostedCluster has a kubeconfig")
	}
	return all, nil
}

func (o *options) write(env operation.Environment, config *clientcmdapi.Config) error {
	if o.merge {
		path, err := clusteraccess.Merge(o.outputFile, config)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Err, "merged into %s\n", path)
		return nil
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	if o.outputFile == "" {
		_, err := env.Out.Write(text)
		return err
	}
	// The file contains the administrator's key.
	if err := operation.WritePrivate(o.outputFile, text); err != nil {
		return fmt.Errorf("writing --output-file: %w", err)
	}
	fmt.Fprintf(env.Err, "wrote %s\n", o.outputFile)
	return nil
}

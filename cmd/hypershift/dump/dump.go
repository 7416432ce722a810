// Package dump implements the command `dump cluster`.
package dump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/console"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/leftovers"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusteraccess"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterdump"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

const long = `The dump has the tree of the cluster, the objects, events and logs of its control plane, the lines about it in the logs of the operator,
the objects of the system in the hosted cluster, and the list of its AWS resources with the consoles of its machines. What cannot be
read is listed in problems.txt, and the rest is still collected.

Secrets have their keys only. The values of all Secrets, and whatever has the form of a key, a token or a password, are removed from
every file. Names, addresses, account ids and what users write into ConfigMaps and logs stay: read a dump before you publish it.`

type options struct {
	management.Cluster
	operation.Session
	dir, operatorNamespace string
	archive, hosted, aws   bool
}

// NewCluster returns `dump cluster`.
func NewCluster(env operation.Environment) *cobra.Command {
	var o options
	c := o.Command("cluster", "Collect what is needed to find the cause of a problem, without secrets", long, false, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift dump cluster demo --artifact-dir demo-dump\n  hypershift dump cluster demo --artifact-dir demo-dump --archive-dump --dump-aws=false"
	o.AddFlags(c)
	f := c.Flags()
	f.StringVar(&o.dir, "artifact-dir", "", "directory for the dump; it must be new or empty (default: <name>-dump)")
	f.BoolVar(&o.archive, "archive-dump", false, "write the file <artifact-dir>.tar.gz instead of the directory")
	f.BoolVar(&o.hosted, "dump-guest-cluster", true, "include objects of the hosted cluster, which are read through the management cluster")
	f.BoolVar(&o.aws, "dump-aws", true, "include the AWS resources, and the consoles of machines")
	f.StringVar(&o.operatorNamespace, "operator-namespace", "hypershift", "namespace of the hypershift-operator")
	return c
}

func (o *options) run(ctx context.Context, env operation.Environment) error {
	c, config, err := o.Client()
	if err != nil {
		return err
	}
	tree, err := clustertree.Gather(ctx, c, o.Key())
	if err != nil {
		return err
	}
	source, err := clusterdump.NewSource(config)
	if err != nil {
		return err
	}
	progress := func(what string) {
		fmt.Fprintf(env.Err, "%s %s\n", env.Clock.Now().UTC().Format("15:04:05"), what)
	}
	d := clusterdump.Dump{Tree: tree, Management: source, OperatorNamespace: o.operatorNamespace, Now: env.Clock.Now(), Progress: progress}
	if o.hosted {
		d.Hosted, d.HostedProblem = hostedSource(ctx, c, config, tree.HostedCluster)
	}
	if o.aws && tree.HostedCluster.Spec.Platform.AWS != nil {
		progress("AWS")
		d.AWS, d.AWSProblem = o.awsView(ctx, env, tree.HostedCluster)
	}
	if o.dir == "" {
		o.dir = o.Name + "-dump"
	}
	path := strings.TrimSuffix(o.dir, "/")
	var target clusterdump.Sink
	if o.archive {
		path += ".tar.gz"
		target, err = clusterdump.NewArchive(path, env.Clock.Now())
	} else {
		target, err = clusterdump.NewDirectory(path)
	}
	if err != nil {
		return err
	}
	missing, err := clusterdump.Run(ctx, d, target)
	if err := errors.Join(err, target.Close()); err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "wrote %s\n", path)
	if missing.Unreadable > 0 {
		fmt.Fprintf(env.Err, "%d parts could not be read: see problems.txt in the dump\n", missing.Unreadable)
	}
	if missing.Forbidden > 0 {
		fmt.Fprintf(env.Err, "your permissions do not include %d namespaces or kinds without a namespace: see problems.txt in the dump; an administrator of the management cluster can make a complete dump\n", missing.Forbidden)
	}
	return nil
}

// hostedSource returns the API server of the hosted cluster, through a pod in the management cluster.
func hostedSource(ctx context.Context, c client.Client, management *rest.Config, hc *hyperv1.HostedCluster) (clusterdump.Source, error) {
	kubeconfig, err := clusteraccess.Kubeconfig(ctx, c, hc)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the hosted cluster: %w", err)
	}
	config.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return clusteraccess.Dial(ctx, c, management, client.ObjectKeyFromObject(hc))
	}
	config.QPS, config.Burst = 50, 100
	return clusterdump.NewSource(config)
}

// awsView returns the files about AWS. With an error, they contain the parts that could be read.
func (o *options) awsView(ctx context.Context, env operation.Environment, hc *hyperv1.HostedCluster) (map[string][]byte, error) {
	if o.Region == "" {
		o.Region = hc.Spec.Platform.AWS.Region
	}
	cfg, err := o.Session.Config(ctx, env)
	if err != nil {
		return nil, err
	}
	found, err := leftovers.Find(ctx, cfg, awsgraph.Owner{InfraID: hc.Spec.InfraID, Name: hc.Name})
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(found.Resources, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the list of resources: %w", err)
	}
	files := map[string][]byte{"resources.json": text}
	outputs, err := console.All(ctx, cfg, hc.Spec.InfraID)
	if err != nil {
		return files, err
	}
	var problems []error
	for _, out := range outputs {
		if out.Err != nil {
			problems = append(problems, errors.New(awsx.Message(out.Err)))
			continue
		}
		files["consoles/"+out.FileName()] = out.Text
	}
	return files, errors.Join(problems...)
}

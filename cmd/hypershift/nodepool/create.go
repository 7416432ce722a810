package nodepool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

type createOptions struct {
	Flags
	operation.Session
	management   management.Flags
	zone         string
	infraJSON    string
	render, wait bool
	renderInto   string
	timeout      time.Duration
}

// NewCreate returns `create nodepool aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o createOptions
	c := operation.Command("aws", "Create a node pool of a cluster on AWS",
		"The operator and the API server check the node pool before it is created. An existing node pool is not changed.",
		func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift create nodepool aws --cluster-name demo --name demo-more --zone us-east-1b --replicas 2 --wait"
	o.Flags.Add(c)
	o.Session.AddFlags(c)
	o.management.Add(c)
	f := c.Flags()
	f.StringVar(&o.Cluster, "cluster-name", "", "name of the HostedCluster (required)")
	f.StringVar(&o.Name, "name", "", "name of the node pool, instead of the argument (required)")
	o.management.AddNamespace(c, &o.Namespace, "namespace of the HostedCluster")
	o.management.AcceptPool(c, &o.Namespace, &o.Name)
	f.Int32Var(&o.Replicas, "replicas", 2, "number of nodes")
	f.StringVar(&o.Release, "release-image", "", "release image of the nodes (default: that of the cluster)")
	f.StringVar(&o.zone, "zone", "", "availability zone of the nodes, with a subnet of hypershift create infra; it is looked up in AWS")
	f.StringVar(&o.infraJSON, "infra-json", "", "file with the result of hypershift create infra: its subnet of --zone and its security group, without a look-up in AWS")
	f.StringVar(&o.SubnetID, "subnet-id", "", "subnet of the nodes, instead of a zone (default: the first subnet of the cluster)")
	f.StringSliceVar(&o.SecurityGroups, "securitygroup-id", nil, "security groups of the nodes, in addition to that of the cluster (default: that of --infra-json)")
	f.StringVar(&o.InstanceProfile, "instance-profile", "", "instance profile of the nodes (default: that of the cluster)")
	f.BoolVar(&o.render, "render", false, "print the node pool instead of creating it; only reads the HostedCluster, and the subnet for --zone")
	f.StringVar(&o.renderInto, "render-into", "", "file for the node pool, instead of creating it")
	f.BoolVar(&o.wait, "wait", false, "wait until all nodes are ready")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "limit for --wait (0: none)")
	return c
}

func (o *createOptions) run(ctx context.Context, env operation.Environment) error {
	switch {
	case o.Cluster == "":
		return &operation.UsageError{Err: errors.New("--cluster-name: Required value")}
	case o.Name == "":
		return &operation.UsageError{Err: errors.New("--name: Required value")}
	case o.zone != "" && o.SubnetID != "":
		return &operation.UsageError{Err: errors.New("--zone and --subnet-id exclude each other")}
	}
	m, err := o.management.Connect()
	if err != nil {
		return err
	}
	hc, err := m.HostedCluster(ctx, o.Namespace, o.Cluster)
	if err != nil {
		return err
	}
	if hc == nil {
		return &operation.UsageError{Err: fmt.Errorf("HostedCluster %s/%s does not exist", o.Namespace, o.Cluster)}
	}
	pool, err := o.complete(ctx, env, hc)
	if err != nil {
		return err
	}
	if err := operation.Check(pool.Validate(hc)); err != nil {
		return err
	}
	np := pool.NodePool()
	if o.render || o.renderInto != "" {
		return o.print(env, np)
	}
	existing, desired := &hyperv1.NodePool{}, np.DeepCopy()
	err = client.WithFieldValidation(m.Client, metav1.FieldValidationStrict).Create(ctx, np)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &operation.UsageError{Err: fmt.Errorf("the API server rejects the node pool: %w", err)}
	case apierrors.IsAlreadyExists(err):
		if err := m.Get(ctx, client.ObjectKeyFromObject(np), existing); err != nil {
			return fmt.Errorf("reading NodePool %s/%s: %w", np.Namespace, np.Name, err)
		}
		if existing.Spec.ClusterName != o.Cluster {
			return &operation.UsageError{Err: fmt.Errorf("NodePool %s/%s exists and is one of cluster %s: choose another name", np.Namespace, np.Name, existing.Spec.ClusterName)}
		}
		if err := management.RefuseDifferences("NodePool "+np.Namespace+"/"+np.Name, existing, desired); err != nil {
			return err
		}
		fmt.Fprintf(env.Err, "NodePool %s/%s exists, and is not changed\n", np.Namespace, np.Name)
	case err != nil:
		return fmt.Errorf("creating NodePool %s/%s: %w", np.Namespace, np.Name, err)
	default:
		fmt.Fprintf(env.Err, "created NodePool %s/%s\n", np.Namespace, np.Name)
	}
	if !o.wait {
		return nil
	}
	return management.Wait(ctx, env, o.timeout, func(ctx context.Context) (clusterprogress.Progress, error) {
		if err := m.Get(ctx, client.ObjectKeyFromObject(np), existing); err != nil {
			return clusterprogress.Progress{}, fmt.Errorf("reading NodePool %s/%s: %w", np.Namespace, np.Name, err)
		}
		e := clusterprogress.Pool(existing)
		return clusterprogress.Progress{Entries: []clusterprogress.Entry{e}, Done: e.Done, Stalled: clusterprogress.PoolStalled(existing)}, nil
	})
}

// complete sets the cluster's values for its nodes.
func (o *createOptions) complete(ctx context.Context, env operation.Environment, hc *hyperv1.HostedCluster) (clustermanifests.Pool, error) {
	pool := o.Flags.Complete()
	pool.Release = cmp.Or(pool.Release, hc.Spec.Release.Image)
	pool.InstanceProfile = cmp.Or(pool.InstanceProfile, names.InstanceProfile(hc.Spec.InfraID))
	platform := hc.Spec.Platform.AWS
	if platform == nil {
		return pool, &operation.UsageError{Err: fmt.Errorf("HostedCluster %s/%s is not on AWS", o.Namespace, o.Cluster)}
	}
	output, err := o.readInfra(hc)
	if err != nil {
		return pool, err
	}
	if len(pool.SecurityGroups) == 0 && output.SecurityGroupID != "" {
		pool.SecurityGroups = []string{output.SecurityGroupID}
	}
	switch config := platform.CloudProviderConfig; {
	case o.zone != "" && o.infraJSON != "":
		i := slices.IndexFunc(output.Zones, func(z infra.OutputZone) bool { return z.Name == o.zone })
		if i < 0 {
			return pool, &operation.UsageError{Err: fmt.Errorf("--infra-json has no subnet in zone %s", o.zone)}
		}
		pool.SubnetID = output.Zones[i].SubnetID
	case o.zone != "":
		o.Region = platform.Region
		cfg, err := o.Config(ctx, env)
		if err != nil {
			return pool, err
		}
		if err := CheckInstanceType(ctx, env, cfg, pool); err != nil {
			return pool, err
		}
		pool.SubnetID, err = infra.NewCloud(cfg, awsgraph.Owner{InfraID: hc.Spec.InfraID}).NodeSubnet(ctx, o.zone)
		return pool, err
	case pool.SubnetID != "":
	case config != nil && config.Subnet != nil && config.Subnet.ID != nil:
		pool.SubnetID = *config.Subnet.ID
	default:
		return pool, &operation.UsageError{Err: errors.New("the HostedCluster has no subnet: pass --zone or --subnet-id")}
	}
	return pool, nil
}

// readInfra reads the file of --infra-json, if there is one.
func (o *createOptions) readInfra(hc *hyperv1.HostedCluster) (output infra.Output, _ error) {
	if o.infraJSON == "" {
		return output, nil
	}
	text, err := os.ReadFile(o.infraJSON)
	if err == nil {
		err = json.Unmarshal(text, &output)
	}
	if err != nil {
		return output, &operation.UsageError{Err: fmt.Errorf("reading --infra-json: %w", err)}
	}
	if output.InfraID != hc.Spec.InfraID {
		return output, &operation.UsageError{Err: fmt.Errorf("--infra-json is of infra ID %s, and HostedCluster %s/%s has %s", output.InfraID, o.Namespace, o.Cluster, hc.Spec.InfraID)}
	}
	return output, nil
}

func (o *createOptions) print(env operation.Environment, np *hyperv1.NodePool) error {
	text, err := clustermanifests.YAML([]client.Object{np}, true)
	if err != nil {
		return err
	}
	if o.renderInto == "" {
		_, err := env.Out.Write(text)
		return err
	}
	if err := os.WriteFile(o.renderInto, text, 0o644); err != nil { //nolint:gosec // a manifest without secrets
		return fmt.Errorf("writing --render-into: %w", err)
	}
	fmt.Fprintf(env.Err, "wrote %s\n", o.renderInto)
	return nil
}

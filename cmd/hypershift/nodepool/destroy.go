package nodepool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
)

// NewDestroy returns `destroy nodepool`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var connection management.Flags
	var namespace, cluster, name string
	var yes bool
	var grace time.Duration
	c := operation.Command("nodepool", "Delete a node pool and its machines", "Waits until all machines of the node pool are deleted.",
		func(ctx context.Context) error {
			if name == "" {
				return &operation.UsageError{Err: errors.New("--name: Required value")}
			}
			m, err := connection.Connect()
			if err != nil {
				return err
			}
			return destroy(ctx, env, m, client.ObjectKey{Namespace: namespace, Name: name}, cluster, yes, grace)
		})
	c.Example = "  hypershift destroy nodepool --name demo-more"
	connection.Add(c)
	f := c.Flags()
	f.StringVar(&name, "name", "", "name of the node pool, instead of the argument (required)")
	connection.AddNamespace(c, &namespace, "namespace of the node pool")
	connection.AcceptPool(c, &namespace, &name)
	f.StringVar(&cluster, "cluster-name", "", "name of the HostedCluster; a node pool of another one is not deleted (default: any)")
	f.DurationVar(&grace, "grace-period", 30*time.Minute, "limit for the deletion (0: none)")
	f.BoolVarP(&yes, "yes", "y", false, "delete without asking")
	return c
}

func destroy(ctx context.Context, env operation.Environment, m *management.API, key client.ObjectKey, cluster string, yes bool, grace time.Duration) error {
	np := &hyperv1.NodePool{}
	err := m.Get(ctx, key, np)
	if apierrors.IsNotFound(err) {
		fmt.Fprintf(env.Err, "NodePool %s does not exist\n", key)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading NodePool %s: %w", key, err)
	}
	if cluster != "" && np.Spec.ClusterName != cluster {
		return &operation.UsageError{Err: fmt.Errorf("NodePool %s is one of cluster %s, not %s", key, np.Spec.ClusterName, cluster)}
	}
	if err := operation.Confirm(env, yes, fmt.Sprintf("Delete NodePool %s with its %d nodes?", key, np.Status.Replicas)); err != nil {
		return err
	}
	uid := np.UID
	if err := m.Delete(ctx, np, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting NodePool %s: %w", key, err)
	}
	err = management.Wait(ctx, env, grace, func(ctx context.Context) (clusterprogress.Progress, error) {
		err := m.Get(ctx, key, np)
		if apierrors.IsNotFound(err) || err == nil && np.UID != uid {
			return clusterprogress.Progress{Done: true}, nil
		}
		if err != nil {
			return clusterprogress.Progress{}, fmt.Errorf("reading NodePool %s: %w", key, err)
		}
		e := clusterprogress.Entry{Name: "nodepool/" + np.Name, Label: "NodePool " + np.Name, Text: clusterprogress.PoolDeletion(np)}
		return clusterprogress.Progress{Entries: []clusterprogress.Entry{e}}, nil
	})
	if err == nil {
		fmt.Fprintf(env.Err, "NodePool %s is deleted\n", key)
	}
	return err
}

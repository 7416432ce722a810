package management

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// API is the API server of the management cluster.
type API struct {
	client.Client
	// Server is its URL.
	Server string
	Config *rest.Config
}

// Connect returns the management cluster. It makes no call.
func (f *Flags) Connect() (*API, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	api, err := newClient(config)
	if err != nil {
		return nil, err
	}
	return &API{Client: api, Server: config.Host, Config: config}, nil
}

// HostedCluster returns a HostedCluster, or nil if it does not exist.
func (c *API) HostedCluster(ctx context.Context, namespace, name string) (*hyperv1.HostedCluster, error) {
	hc := &hyperv1.HostedCluster{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, hc)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading HostedCluster %s/%s: %w", namespace, name, err)
	}
	return hc, nil
}

// NodePools returns the NodePools of a HostedCluster.
func (c *API) NodePools(ctx context.Context, namespace, cluster string) ([]hyperv1.NodePool, error) {
	list := &hyperv1.NodePoolList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the NodePools of %s/%s: %w", namespace, cluster, err)
	}
	var pools []hyperv1.NodePool
	for _, np := range list.Items {
		if np.Spec.ClusterName == cluster {
			pools = append(pools, np)
		}
	}
	return pools, nil
}

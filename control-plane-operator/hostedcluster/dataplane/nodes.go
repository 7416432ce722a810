package dataplane

import (
	"context"
	"fmt"
	"math"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
)

// CountNodes returns the number of nodes, and the resource version at which a watch of them begins. It lists one Node: the response
// contains the number of remaining Nodes.
func CountNodes(ctx context.Context, cluster *connection.Cluster) (nodes int32, resourceVersion string, err error) {
	list := connection.Nodes()
	if err := cluster.Client.List(ctx, list, client.Limit(1)); err != nil {
		return 0, "", fmt.Errorf("counting nodes: %w", err)
	}
	all := int64(len(list.Items)) + ptr.Deref(list.RemainingItemCount, 0)
	return int32(min(max(all, 0), math.MaxInt32)), list.ResourceVersion, nil
}

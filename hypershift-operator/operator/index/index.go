// Package index defines the cache indexes by which several controllers list.
package index

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// NodePoolCluster is spec.clusterName of a NodePool.
const NodePoolCluster = "spec.clusterName"

// ByCluster fills NodePoolCluster.
func ByCluster(obj client.Object) []string {
	return []string{obj.(*hyperv1.NodePool).Spec.ClusterName}
}

// Register adds the indexes to the cache. It must be called before the controllers
// are added.
func Register(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &hyperv1.NodePool{}, NodePoolCluster, ByCluster); err != nil {
		return fmt.Errorf("indexing NodePools by %s: %w", NodePoolCluster, err)
	}
	return nil
}

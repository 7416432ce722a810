package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// poolLabels name a NodePool and its HostedCluster; _id is spec.clusterID of the latter.
var poolLabels = []string{"namespace", "name", "_id", "cluster_name", "platform"}

var pools = describe("hypershift_nodepools", "NodePools.", "platform")

var poolGauges = []gauge[*hyperv1.NodePool]{
	{describe("hypershift_nodepools_size",
		"Nodes that the NodePool is to have. Absent while it scales itself.",
		poolLabels...), size},
	{describe("hypershift_nodepools_available_replicas",
		"Nodes of the NodePool that are available.",
		poolLabels...), availableReplicas},
	{describe("hypershift_nodepools_initial_rolling_out_duration_seconds",
		"How long a new NodePool has been waiting for all its nodes. Absent once it had them.",
		poolLabels...), poolRollingOut},
	{describe("hypershift_nodepools_deleting_duration_seconds",
		"How long the NodePool has been being deleted. Absent while it is not.",
		poolLabels...), poolDeleting},
}

// key is a HostedCluster as its NodePools name it.
type key struct{ namespace, name string }

func clusterOf(np *hyperv1.NodePool) key { return key{np.Namespace, np.Spec.ClusterName} }

func byCluster(pools []hyperv1.NodePool) map[key][]*hyperv1.NodePool {
	of := map[key][]*hyperv1.NodePool{}
	for i := range pools {
		np := &pools[i]
		of[clusterOf(np)] = append(of[clusterOf(np)], np)
	}
	return of
}

func (w *world) collectPools(out chan<- prometheus.Metric) {
	platforms := map[hyperv1.PlatformType]float64{hyperv1.AWSPlatform: 0}
	wrong := failures{}
	ids := w.clusterIDs()
	for i := range w.pools {
		np := &w.pools[i]
		platform := np.Spec.Platform.Type
		platforms[platform]++
		wrong.count(platform, healthyPools, poolConditionsOf(np.Status.Conditions))
		collect(out, poolGauges, np, w.now, np.Namespace, np.Name, ids[clusterOf(np)], np.Spec.ClusterName, string(platform))
	}
	collectPlatforms(out, pools, platforms)
	wrong.collect(out, poolFailures)
}

func (w *world) clusterIDs() map[key]string {
	ids := map[key]string{}
	for i := range w.clusters {
		ids[key{w.clusters[i].Namespace, w.clusters[i].Name}] = w.clusters[i].Spec.ClusterID
	}
	return ids
}

// size has no value if the autoscaler determines it, and is 0 if the spec has
// neither.
func size(np *hyperv1.NodePool, _ time.Time) (float64, bool) {
	if np.Spec.AutoScaling != nil {
		return 0, false
	}
	if np.Spec.Replicas == nil {
		return 0, true
	}
	return float64(*np.Spec.Replicas), true
}

func availableReplicas(np *hyperv1.NodePool, _ time.Time) (float64, bool) {
	return float64(np.Status.Replicas), true
}

// rolledOut reports whether all nodes of a pool have run its version.
func rolledOut(np *hyperv1.NodePool) bool { return np.Status.Version != "" }

func poolRollingOut(np *hyperv1.NodePool, now time.Time) (float64, bool) {
	return seconds(np.CreationTimestamp.Time, now), !rolledOut(np) && np.DeletionTimestamp.IsZero()
}

func poolDeleting(np *hyperv1.NodePool, now time.Time) (float64, bool) {
	if np.DeletionTimestamp.IsZero() {
		return 0, false
	}
	return seconds(np.DeletionTimestamp.Time, now), true
}

// Package metrics exports Prometheus metrics about one control plane. docs/metrics.md describes them.
//
//	hostedapi               the health check of the API server      ──► API
//	                        the counters of its audit events        ──► Audit
//	hostedcluster/dataplane the check of the connection to nodes    ──► Nodes
//	defragmentation         the check of the members of etcd        ──► EtcdMember
//	scrape ─► Collector     certificates and annotations in the cache
//
// No scrape causes a request: controllers record what they find, and a scrape reads the cache. Each metric carries its
// control plane's labels, because an alert must name it.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// labels name a control plane: its namespace, the name of its HostedCluster, and spec.clusterID.
var labels = []string{"namespace", "name", "_id"}

func labelsOf(hcp *hyperv1.HostedControlPlane, more ...string) []string {
	return append([]string{hcp.Namespace, hcp.Name, hcp.Spec.ClusterID}, more...)
}

func gauge(name, help string, more ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append(labels[:len(labels):len(labels)], more...))
}

var (
	apiReady = gauge("hypershift_cluster_api_ready",
		"1 if the API server of the hosted cluster is ready, 0 if it is not or does not respond.")
	apiDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "hypershift_cluster_api_check_duration_seconds",
		Help: "Time that the API server of the hosted cluster takes to respond to the health check, with the connection.",
		// The check's timeout is five seconds.
		Buckets: []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5},
	}, labels)
	nodesReachable = gauge("hypershift_cluster_nodes_reachable",
		"1 if the control plane reaches nodes of the hosted cluster, 0 if it does not. Absent without nodes.")
	tunnelAgents = gauge("hypershift_cluster_tunnel_agents",
		"Agents of the tunnels that are connected. There is one on each node. Absent without nodes.")
	etcdSize = gauge("hypershift_etcd_database_bytes",
		"Size of the database of a member of the hosted cluster's etcd.", "member")
	etcdInUse = gauge("hypershift_etcd_database_in_use_bytes",
		"Size of the data in use in the database of a member of the hosted cluster's etcd.", "member")
	etcdQuota = gauge("hypershift_etcd_database_quota_bytes",
		"Size limit of the database of a member of the hosted cluster's etcd.", "member")
)

// recorded are the metrics that controllers record.
var recorded = []prometheus.Collector{apiReady, apiDuration, nodesReachable, tunnelAgents, etcdSize, etcdInUse, etcdQuota, &audited}

func init() {
	metrics.Registry.MustRegister(recorded...)
	metrics.Registry.MustRegister(&leading)
}

// API records a health check of the API server. took is 0 if there was no response.
func API(hcp *hyperv1.HostedControlPlane, ready bool, took time.Duration) {
	apiReady.WithLabelValues(labelsOf(hcp)...).Set(flag(ready))
	if took > 0 {
		apiDuration.WithLabelValues(labelsOf(hcp)...).Observe(took.Seconds())
	}
}

// Nodes records a check of the connection to nodes, and how many agents are connected.
func Nodes(hcp *hyperv1.HostedControlPlane, reachable bool, agents int) {
	nodesReachable.WithLabelValues(labelsOf(hcp)...).Set(flag(reachable))
	tunnelAgents.WithLabelValues(labelsOf(hcp)...).Set(float64(agents))
}

// NoNodes removes the metrics that Nodes recorded: the cluster has no nodes to reach.
func NoNodes(hcp *hyperv1.HostedControlPlane) {
	nodesReachable.DeleteLabelValues(labelsOf(hcp)...)
	tunnelAgents.DeleteLabelValues(labelsOf(hcp)...)
}

// EtcdMember records the size of the database of a member, of the data in it, and its limit.
func EtcdMember(hcp *hyperv1.HostedControlPlane, member string, size, inUse, quota int64) {
	etcdSize.WithLabelValues(labelsOf(hcp, member)...).Set(float64(size))
	etcdInUse.WithLabelValues(labelsOf(hcp, member)...).Set(float64(inUse))
	etcdQuota.WithLabelValues(labelsOf(hcp, member)...).Set(float64(quota))
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Package metrics exports Prometheus metrics about HostedClusters and NodePools.
// docs/metrics.md describes them.
//
//	scrape ─► Collector.Collect ─► the manager's cache: one list of each kind, not copied
//	             clusters.go         one HostedCluster: durations
//	             pools.go            one NodePool: sizes
//	             failures.go         the number of failing objects
//	             transitions.go      how long new objects took for each transition
//
// Values are computed from the objects at the time of the scrape: from the
// lastTransitionTime of conditions and from timestamps. A restart loses only the
// histograms.
//
// Only the leader exports metrics: otherwise each object would be counted once for
// each replica.
package metrics

// Package metrics tells a Prometheus about HostedClusters and NodePools.
// docs/metrics.md says it to its users.
//
//	scrape ─► Collector.Collect ─► the manager's cache: one list of each kind, not copied
//	             clusters.go         one HostedCluster: what lasts how long
//	             pools.go            one NodePool: how large
//	             failures.go         how many say that something is wrong
//	             transitions.go      how long new ones took to get so far
//
// What is measured is read off the objects at the time of the scrape, by the
// conditions' lastTransitionTime and the objects' own times. So nothing has to be
// counted when it happens, and a restart loses nothing but the histograms.
//
// Only the operator that leads tells anything: otherwise each object would be
// counted once per replica.
package metrics

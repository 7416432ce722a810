// Package hostedapi asks the hosted API server how it is, and tells: in the
// conditions KubeAPIServerAvailable, KubeAPIServerReachable, EtcdAvailable and, after a restore, EtcdSnapshotRestored, and in the
// fields of the status that Cluster API and the hypershift-operator wait for.
//
//	Secret <infraID>-kubeconfig ── none ──► NotDeployed
//	      │ kept for some minutes, and read anew when it did not work
//	      ▼
//	GET /readyz?verbose ── nobody answers, for 6 s ──► False, and why
//	      │                 (what has never been up is believed at once)
//	      ├── not ready ──► False, and which checks fail
//	      │                 (of both: and what kube-apiserver and etcd say of themselves)
//	      ▼
//	GET /version ──► True: ready, initialized for good, version
//
// It asks often until the answer is good and rarely from then on, at once when
// other pods serve than before, and every second until somebody answers where
// they are new. A kubeconfig for users is told of when it is there. It goes on while changes are paused and
// while the cluster is being deleted: it changes nothing, and others wait for
// what it says.
//
// Whether users and nodes reach it is checked in the background, where it is published:
//
//	paths.go      Services and Routes ──► address, server name
//	monitor.go    one goroutine per path: connect, GET /readyz, count failures ──► wakes the controller when that changes
//	reachable.go  observations of all paths ──► KubeAPIServerReachable
package hostedapi

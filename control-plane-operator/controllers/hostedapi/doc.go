// Package hostedapi checks the health of the hosted API server. It writes the conditions KubeAPIServerAvailable,
// KubeAPIServerReachable, EtcdAvailable and, after a restore, EtcdSnapshotRestored, and the status fields that Cluster
// API and the hypershift-operator wait for.
//
//	health check
//	Secret <infraID>-kubeconfig ── none ──► NotDeployed
//	      │ cached for some minutes, and read again after a failure
//	      ▼
//	GET /readyz?verbose ── no response for 6 s ──► False, with the reason
//	      │                 (at once for a server that has never been up)
//	      ├── not ready ──► False, with the failed checks
//	      │                 (both with the conditions of kube-apiserver and etcd)
//	      ▼
//	GET /version ──► True: ready, initialized for good, version
//
//	confirmation   of a missing answer, before a server that was ready is reported as unavailable
//	components     their states, for the reason of a failed check
//	paths          the reachability for users and nodes
//	arrival        of pods that have become ready: the check is repeated until the Service leads to one
//	audit events   that the API servers have lost, every five minutes
//
// It checks often until the API server is ready, and rarely from then on. A change of the serving pods triggers a check
// at once, and new pods are checked every second until one responds. A new kubeconfig for users is reported at once. The
// checks continue while changes are paused and during the deletion of the cluster: they do not write, and other
// controllers wait for the result.
//
// The reachability for users and nodes is checked in the background, at the published addresses:
//
//	paths.go      Services and Routes ──► address, server name
//	monitor.go    one goroutine per path: connect, GET /readyz, count failures ──► trigger a reconcile on changes
//	reachable.go  observations of all paths ──► KubeAPIServerReachable
package hostedapi

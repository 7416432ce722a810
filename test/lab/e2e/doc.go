// Package e2e runs scenarios in a whole lab: real machines, pods, load balancers, and hypershift installed by Helm. Each scenario
// creates its own hosted clusters. Those that change what others need run first, one after the other: the installation
// (install_test.go, alerts_test.go), a machine of the management cluster (outage_test.go), its network policies (attacks_test.go), its account
// (second_test.go). The others share the lab, a few at a time (places_test.go):
//
//	everyday_test.go    forty kubectl commands of a user (kubectl_test.go)
//	upgrade_test.go     upgrade from 1.36.3 to 1.37.2 during requests; the cluster stays Available
//	keys_test.go        Secrets get encrypted, then re-encrypted with another key, while requests read them
//	tokenkeys_test.go   the key of service account tokens is rotated, while tokens of each stage are used at the API server and in AWS
//	outage_test.go      every pod of a highly available control plane is killed in turn, and a machine
//	access_test.go      the access mode changes in every direction, while machines run pods
//	workers_test.go     machines of the customer join and run pods; then all CAs are rotated (rotation_test.go)
//	private_test.go     a private cluster with a node in each of three zones; its connection is broken and repaired
//	samerange_test.go   two customers with the same addresses
//	second_test.go      a hosted cluster with a node on a second management cluster in the same AWS account; the first one does not change
//	nodes_test.go       nodes from stock images, with Ignition and with cloud-init; an upgrade; faults that prevent a join
//	nodepools_test.go   node pools are scaled, changed, upgraded, repaired and deleted; their controllers crash
//	mistakes_test.go    mistakes of a user, and the conditions that report them
//	sleep_test.go       a cluster sleeps and wakes, with and without its machines, and is deleted asleep
//	snapshot_test.go    a snapshot of etcd is restored into another cluster
//	restores_test.go    a cluster goes back to a backup while its operators and a member are killed, and another begins with it
//	drills_test.go      parts of a cluster are lost, from a member of etcd to the control plane namespace, and recovered as users do
//	reference_test.go   manifests of HyperShift's command line
//	commandline_test.go the command line creates and deletes a cluster, and is killed meanwhile
//	publishing_test.go  an API server at node ports, at a host name that external-dns registers, and with PrivateLink
//	diagnosis_test.go   describe, doctor, a forward to a private API server, and a dump without secrets
//	install_test.go     helm upgrade, and helm uninstall while clusters exist
//	alerts_test.go      Prometheus scrapes the operators; faults make the alerts fire and clear
//	attacks_test.go     attacks of pods, tenants, administrators of the hosted cluster and nodes
//	networkpolicies_test.go  connections of a pod with and without a policy, and cases of cyclonus
//
// A scenario ends with the deletion of its clusters and a check that no object remains, in Kubernetes and in AWS.
//
// It needs root; `make e2e` runs it. HYPERSHIFT_E2E_KEEP=true leaves the lab up, where the next run finds it.
// HYPERSHIFT_E2E_UNTIL, in seconds since 1970, selects as many scenarios as end by then. HYPERSHIFT_E2E_SEED decides which (package selection).
package e2e

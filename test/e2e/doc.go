// Package e2e tells stories on a whole lab: real machines, pods, load balancers, hypershift installed by Helm. They run one after
// the other, each with hosted clusters of its own:
//
//	everyday_test.go    kubectl of somebody else, forty commands (kubectl_test.go)
//	upgrade_test.go     1.35.4 becomes 1.36.3 while requests run, and the cluster stays Available
//	keys_test.go        Secrets are encrypted, then with another key, while requests read them
//	outage_test.go      every pod of a highly available control plane is killed in turn, and a machine
//	workers_test.go     machines of the customer join, and run pods; all authorities are replaced under them (rotation_test.go)
//	mistakes_test.go    what a user does wrong, and what he is told
//	publishing_test.go  a cluster outside of AWS, reached at ports of nodes
//	install_test.go     helm upgrade, and helm uninstall while clusters are there
//	attacks_test.go     strangers, tenants, administrators of the hosted cluster and nodes attempt what they must not do
//	networkpolicies_test.go  what a pod reaches with a policy and without, and cases of cyclonus on pods
//
// A story ends with the deletion of its cluster, and with a look at whether anything is left, in Kubernetes and in AWS.
//
// It needs root; `make e2e` runs it. HYPERSHIFT_E2E_KEEP=true leaves the lab up, where the next run finds it.
package e2e

// Package cloudcontrollermanager runs the AWS cloud-controller-manager of a hosted cluster. It sets the location of
// nodes, removes the taint with which they start, deletes nodes without an instance, and creates load
// balancers for Services in the customer's account:
//
//	signing key ── token-minter ──► token ──► role of the customer's account
//	nodes, Services of the hosted cluster ◄─► instances, load balancers there
//
// It runs in the pods of kube-controller-manager, from the first node pool on. It stays after the last node is gone, because only it
// can remove the remaining load balancers.
package cloudcontrollermanager

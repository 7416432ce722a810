// Package cloudcontrollermanager runs the cloud-controller-manager of AWS of a
// hosted cluster. It tells nodes where they are, takes away the taint with which
// they start, removes those whose instances are gone, and makes load balancers of
// Services in the account of the customer:
//
//	signing key ── token-minter ──► token ──► role of the customer's account
//	nodes, Services of the hosted cluster ◄─► instances, load balancers there
//
// There is one from the first node on. It stays when the last one has gone: load
// balancers may be left, which only it can remove.
package cloudcontrollermanager

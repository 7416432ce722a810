// Package isolation bounds the reach and the resources of a control plane in the management cluster.
// Everything is set on its namespace, where the tenant's operator cannot change it.
//
//	Policies    NetworkPolicies: ports and addresses that its pods reach     networkpolicies.go
//	Limits      ResourceQuota and LimitRange                                 limits.go
//	Namespace   pod security level, and the host names that it may publish   namespace.go
package isolation

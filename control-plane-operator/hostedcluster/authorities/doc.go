// Package authorities publishes certificate authorities in a hosted cluster, and holds a new one back until the cluster trusts it.
//
//	fornodes.go  the authorities that nodes trust, signed, and the address of the API server
//	forpods.go   the authorities that kube-controller-manager gives to pods
//	rollout.go   the next authority signs when pods and nodes trust it
//
// User data contains the authorities only at the creation of a machine. Nodes follow the ConfigMap that package objects applies.
package authorities

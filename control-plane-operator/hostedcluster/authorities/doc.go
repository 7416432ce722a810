// Package authorities publishes certificate authorities in a hosted cluster, and holds a new one back until the cluster trusts it.
//
//	fornodes.go  the authorities that nodes trust, signed, and the address of the API server
//	forpods.go   the authorities that kube-controller-manager gives to pods
//	rollout.go   the next authority signs when pods and nodes trust it
//
// User data has the authorities only once, when a machine is created. Nodes follow the ConfigMap that package objects applies.
package authorities

// Package dataplane observes the nodes of a hosted cluster and the connection between them and the control plane.
//
//	nodes.go    the number of nodes
//	tunnels.go  one check of the connection, in both directions
//	monitor.go  the check in the background, and the last result
//	kubelets.go which kubelets serve with certificates that the cluster has signed
package dataplane

// Package autonode provides Karpenter's objects inside a hosted cluster.
//
//	kinds.go      the kinds of Karpenter
//	claims.go     the nodes that Karpenter has requested
//	machines.go   the instances of these nodes, in the form of Machines
//	token.go      the bootstrap token that these nodes share
//	ensure.go     kinds, default EC2NodeClass and NodePool
//	defaults.go   the desired objects
//	condition.go  whether nodes are created on demand: the condition AutoNodeEnabled
//
// Karpenter itself is a component of the control plane. Package cloudcleanup removes the nodes.
package autonode

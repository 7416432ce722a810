// Package stoppednodes lets the control planes of a stopped machine start on another machine at once.
//
// Kubernetes does not replace a pod of a StatefulSet on a node that does not answer, nor does it detach its volume for six minutes:
// the machine may only have lost its network, and still write to the volume. If the instance is stopped, nothing runs there. The
// cloud controller manager sees that, and taints the node. This package does for the pods of control planes what the documentation
// of Kubernetes asks an administrator to do by hand:
//
//	instance stopped ─► cloud controller manager: taint node.cloudprovider.kubernetes.io/shutdown
//	                    node not ready ─► pods of control planes ─► out-of-service taint ─► Kubernetes detaches the volumes
//	                                                             ─► deletion of the pods, which have ended ─► they start on other nodes
//	instance runs    ─► node ready ─► removal of the out-of-service taint
//
// A machine that only lost its network or its power, so that its instance still counts as running, gets no taint. A node without
// pods of control planes is not changed, nor is a taint of somebody else.
//
// https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
package stoppednodes

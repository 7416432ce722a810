// Package hostedapi is a stand-in for the pods of a control plane, in beds without nodes: it runs the API server of a hosted cluster
// as a process, and says of the pods that they run.
//
//	Start: key and issuer of the cluster ─► certificates ─► kube-apiserver (real, on loopback, in a prefix of a shared etcd)
//	         ─► Secrets with kubeconfigs in the namespace of the control plane
//	then:  Deployments and StatefulSets of the control plane ─► as ready as they want to be
//	       requests of kubelets for a certificate that the operator has approved ─► signed
//	until: the HostedControlPlane is gone, or Stop
//
// What is real: the server, with RBAC, the Node authorizer and bootstrap tokens, and its certificates, which name what nodes
// and users call it by. What is played here is what its pods would be, and the controller manager, which signs for kubelets.
// There is no scheduler in the hosted cluster.
package hostedapi

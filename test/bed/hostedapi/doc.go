// Package hostedapi is a stand-in: it runs the API server of a hosted cluster, as long as no control plane of ours does.
//
//	Start: key and issuer of the cluster ─► certificates ─► kube-apiserver (real, on loopback, in a prefix of a shared etcd)
//	         ─► Secrets <infraID>-kubeconfig and admin-kubeconfig in the namespace of the control plane
//	then:  bootstrap tokens of the namespace ─► kube-system of the hosted cluster
//	       requests of kubelets for a certificate ─► approved and signed
//	until: the HostedControlPlane is gone, or Stop
//
// What is real: the server, with RBAC, the Node authorizer and bootstrap tokens, and its certificates, which name what nodes
// and users call it by. What is played here belongs to others: to run all this as pods, to hand tokens in and to sign for
// kubelets is the work of a control plane. There is no controller manager and no scheduler in the hosted cluster.
package hostedapi

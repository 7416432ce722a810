// Package accessapi serves the API group access.hypershift.openshift.io (package api/access/v1alpha1) as an aggregated API server: users
// with permissions in the namespace of a HostedCluster get kubeconfigs of the hosted cluster, and a tunnel to its API server. They need
// no permission in the namespace of the control plane.
//
//	user
//	  │    API server of the management cluster: authenticates the user, authorizes the method of the request
//	  ▼
//	frontproxy.go   authenticates the API server, reads the user from its headers
//	server.go       SubjectAccessReview: verb create, in the namespace of the HostedCluster
//	  ├─► kubeconfig.go   signs with the client signer of the control plane, and records an event before it answers
//	  └─► tunnel.go       forwards to the Service of the hosted API server
//	certificate.go  the serving certificate, and its authority in the APIService
//
// The front proxy follows the rules of https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/. The library
// of API servers (k8s.io/apiserver) implements them, too. It is not used because it adds 230 packages to every replica of the
// operator.
//
// Every replica serves. A request needs no leader, and leaves no state behind except for an event.
package accessapi

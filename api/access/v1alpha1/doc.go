// Package v1alpha1 has the API group access.hypershift.openshift.io, by which users get access to hosted clusters with permissions in the
// namespace of the HostedCluster only.
//
// The hypershift-operator serves it as an aggregated API. It has no objects of its own, only subresources of HostedClusters. Users need the
// verb create of a subresource, in the API group of this package, and for a tunnel also get, as for pods/portforward:
//
//	POST hostedclusters/NAME/adminkubeconfig   a KubeconfigRequest: a kubeconfig with all permissions
//	POST hostedclusters/NAME/viewerkubeconfig  a KubeconfigRequest: a kubeconfig that reads everything but Secrets
//	GET  hostedclusters/NAME/tunnel            a WebSocket with the protocol of pods/portforward, to the API server of the hosted cluster
//
// The model is shoots/adminkubeconfig of Gardener.
package v1alpha1

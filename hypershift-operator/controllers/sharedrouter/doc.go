// Package sharedrouter writes the configuration of the shared router (package internal/sharedrouter), which serves the control planes of all
// clusters with the annotation hypershift.openshift.io/shared-router.
//
//	clusters        HostedClusters that choose it, or are still connected to it, and the addresses of their control planes
//	► endpoints     VPC endpoints of each cluster, verified with AWS                    endpoints.go
//	► configuration ConfigMap, which belongs to the Service of the load balancer
//	► router pods   annotated, so that their kubelets update the files at once
//
// The object is the Service shared-router of the installation. A cluster without a control plane, with an endpoint that AWS does not list, or
// with too many networks, does not hold up the others.
//
// What a control-plane-operator writes is a request: the id of an endpoint in the status of its AWSEndpointService. AWS says to which account
// the endpoint belongs. The addresses are those of Services, which the API server assigns. The hosts are those of the HostedCluster.
package sharedrouter

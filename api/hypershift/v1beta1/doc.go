// Package v1beta1 is the API of hosted control planes on AWS: what a user
// applies (HostedCluster, NodePool) and what the operators tell each other
// (HostedControlPlane, AWSEndpointService, ControlPlaneComponent).
//
// +kubebuilder:object:generate=true
// +groupName=hypershift.openshift.io
package v1beta1

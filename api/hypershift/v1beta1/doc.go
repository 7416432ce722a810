// Package v1beta1 is the API of hosted control planes on AWS. Users create HostedClusters and NodePools. The
// operators exchange data in HostedControlPlanes, AWSEndpointServices and ControlPlaneComponents. NodeBootstraps and
// NodeBootstrapTemplates are for Cluster API.
//
// +kubebuilder:object:generate=true
// +groupName=hypershift.openshift.io
package v1beta1

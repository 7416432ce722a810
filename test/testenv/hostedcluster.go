package testenv

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// PrivateCluster returns a valid HostedCluster in the account Customer. Its namespace for the control plane is Namespace.
func PrivateCluster() *hyperv1.HostedCluster {
	role := func(name string) hyperv1.RoleARN {
		return hyperv1.RoleARN("arn:aws:iam::" + Customer + ":role/demo-" + name)
	}
	route := hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
	return &hyperv1.HostedCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"},
		Spec: hyperv1.HostedClusterSpec{
			Release:    hyperv1.Release{Image: "example.test/release:1"},
			PullSecret: corev1.LocalObjectReference{Name: "my-pull-secret"},
			InfraID:    "demo-x",
			IssuerURL:  "https://documents.s3.us-east-1.amazonaws.com/demo-x",
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
				Region:              Region,
				EndpointAccess:      hyperv1.Private,
				CloudProviderConfig: &hyperv1.AWSCloudProviderConfig{VPC: "vpc-1"},
				RolesRef: hyperv1.AWSRolesRef{
					StorageARN:             role("storage"),
					KubeCloudControllerARN: role("cloud"), NodePoolManagementARN: role("nodes"), ControlPlaneOperatorARN: role("cpo"),
				},
			}},
			Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: hyperv1.PersistentVolumeEtcdStorage}}},
			Networking: hyperv1.ClusterNetworking{
				NetworkType:    hyperv1.OVNKubernetes,
				MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}},
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
				ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}},
			},
			Services: []hyperv1.ServicePublishingStrategyMapping{
				{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}},
				{Service: hyperv1.OAuthServer, ServicePublishingStrategy: route},
				{Service: hyperv1.Konnectivity, ServicePublishingStrategy: route},
				{Service: hyperv1.Ignition, ServicePublishingStrategy: route},
			},
		},
	}
}

package testenv

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The hosted cluster of a test.
const (
	Region    = "us-east-1"
	Provider  = "111111111111" // account of the management cluster
	Customer  = "222222222222" // account of the hosted cluster
	Namespace = "clusters-demo"
	InfraID   = "demo-x"
	Issuer    = "https://issuer.example.com/demo"
)

// In returns the metadata of an object.
func In(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// HostedControlPlane returns the control plane of PrivateCluster, without a role in AWS.
func HostedControlPlane(changes ...func(*hyperv1.HostedControlPlane)) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "demo", Generation: 1, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}},
		Spec: hyperv1.HostedControlPlaneSpec{
			InfraID: InfraID, IssuerURL: Issuer,
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{Region: Region, EndpointAccess: hyperv1.Private}},
			Networking: hyperv1.ClusterNetworking{
				MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}},
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
				ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}},
			},
		},
	}
	for _, change := range changes {
		change(hcp)
	}
	return hcp
}

// Secret returns a Secret in Namespace.
func Secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: In(Namespace, name), Data: map[string][]byte{key: []byte(value)}}
}

// ConfigMap returns a ConfigMap in Namespace.
func ConfigMap(name, key, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: In(Namespace, name), Data: map[string]string{key: value}}
}

// PullSecret returns the user's pull secret, which contains no credentials.
func PullSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: In("clusters", "my-pull-secret"), Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)}}
}

// Kubeconfig returns a kubeconfig with a token. The authorities are PEM, in base64.
func Kubeconfig(server, authorities, token string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: demo, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: admin, user: {token: %q}}]
contexts: [{name: admin, context: {cluster: demo, user: admin}}]
current-context: admin
`, server, authorities, token)
}

// Published returns how a service is published by a Route, with this host name.
func Published(service hyperv1.ServiceType, host string) hyperv1.ServicePublishingStrategyMapping {
	return hyperv1.ServicePublishingStrategyMapping{Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
		Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: host},
	}}
}

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

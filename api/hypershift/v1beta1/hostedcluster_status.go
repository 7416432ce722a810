package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostedClusterStatus is what there is of a HostedCluster.
type HostedClusterStatus struct {
	// conditions says how the cluster is, in words; docs/conditions.md lists the types and reasons.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=100
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// version says which release the cluster runs.
	//
	// +optional
	Version *ClusterVersionStatus `json:"version,omitempty"`

	// controlPlaneVersion says which release the management side of the control plane runs.
	//
	// +optional
	ControlPlaneVersion *ControlPlaneVersionStatus `json:"controlPlaneVersion,omitempty"`

	// kubeconfig names the Secret with the administrator's kubeconfig, under the key kubeconfig.
	//
	// +optional
	KubeConfig *corev1.LocalObjectReference `json:"kubeconfig,omitempty"`

	// customKubeconfig names the Secret with a kubeconfig for spec.kubeAPIServerDNSName.
	//
	// +optional
	CustomKubeconfig *corev1.LocalObjectReference `json:"customKubeconfig,omitempty"`

	// kubeadminPassword names the Secret with the password of the user kubeadmin.
	//
	// +optional
	KubeadminPassword *corev1.LocalObjectReference `json:"kubeadminPassword,omitempty"`

	// ignitionEndpoint is the host at which new nodes fetch their configuration.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=255
	IgnitionEndpoint string `json:"ignitionEndpoint,omitempty"`

	// controlPlaneEndpoint is where the API server is reached.
	//
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`

	// oauthCallbackURLTemplate is the callback URL to register with an identity provider, with [identity-provider-name] in
	// place of the provider's name.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	OAuthCallbackURLTemplate string `json:"oauthCallbackURLTemplate,omitempty"`

	// payloadArch is the CPU architecture of the release payload.
	//
	// +optional
	PayloadArch PayloadArchType `json:"payloadArch,omitempty"`

	// platform holds what the cloud told us.
	//
	// +optional
	Platform *PlatformStatus `json:"platform,omitempty"`

	// oidcDocuments says where the operator publishes the OIDC documents of spec.issuerURL. It is written before they are, so
	// that they are found again when the cluster is deleted.
	//
	// +optional
	OIDCDocuments *OIDCDocumentsStatus `json:"oidcDocuments,omitempty"`

	// autoNode counts the nodes that were made by need.
	//
	// +optional
	AutoNode *AutoNodeStatus `json:"autoNode,omitempty"`

	// configuration is what spec.configuration has led to.
	//
	// +optional
	Configuration *ConfigurationStatus `json:"configuration,omitempty"`

	// secretEncryption says with which key Secrets are encrypted.
	//
	// +optional
	SecretEncryption *SecretEncryptionStatus `json:"secretEncryption,omitempty"`
}

// PayloadArchType is a CPU architecture of release payloads.
//
// +kubebuilder:validation:Enum=Multi;ARM64;AMD64;PPC64LE;S390X
type PayloadArchType string

// The CPU architectures of release payloads. A payload of type Multi has images for several.
const (
	Multi   PayloadArchType = "Multi"
	ARM64   PayloadArchType = "ARM64"
	AMD64   PayloadArchType = "AMD64"
	PPC64LE PayloadArchType = "PPC64LE"
	S390X   PayloadArchType = "S390X"
)

// OIDCDocumentsStatus is a bucket with OIDC documents; those of a cluster begin with its infraID.
type OIDCDocumentsStatus struct {
	// bucket is the name of the S3 bucket.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Bucket string `json:"bucket"`

	// region is the region of the bucket.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`
}

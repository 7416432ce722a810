package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostedClusterStatus is the observed state of a HostedCluster.
type HostedClusterStatus struct {
	// conditions reports the state of the cluster. docs/conditions.md lists the types and reasons.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=100
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the HostedCluster that status describes.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// version reports the release that the cluster runs.
	//
	// +optional
	Version *ClusterVersionStatus `json:"version,omitempty"`

	// controlPlaneVersion reports the release that the management side of the control plane runs.
	//
	// +optional
	ControlPlaneVersion *ControlPlaneVersionStatus `json:"controlPlaneVersion,omitempty"`

	// kubeconfig refers to the Secret with the administrator's kubeconfig, under the key kubeconfig.
	//
	// +optional
	KubeConfig *corev1.LocalObjectReference `json:"kubeconfig,omitempty"`

	// customKubeconfig refers to the Secret with a kubeconfig for spec.kubeAPIServerDNSName.
	//
	// +optional
	CustomKubeconfig *corev1.LocalObjectReference `json:"customKubeconfig,omitempty"`

	// kubeadminPassword refers to the Secret with the password of the user kubeadmin.
	//
	// +optional
	KubeadminPassword *corev1.LocalObjectReference `json:"kubeadminPassword,omitempty"`

	// ignitionEndpoint is the host from which new nodes fetch their configuration.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=255
	IgnitionEndpoint string `json:"ignitionEndpoint,omitempty"`

	// controlPlaneEndpoint is the address of the API server.
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

	// platform is the observed state of the platform.
	//
	// +optional
	Platform *PlatformStatus `json:"platform,omitempty"`

	// oidcDocuments records where the operator publishes the OIDC documents of spec.issuerURL. It is written before
	// the documents are published, so that they are found when the cluster is deleted.
	//
	// +optional
	OIDCDocuments *OIDCDocumentsStatus `json:"oidcDocuments,omitempty"`

	// leftBehind lists the cloud resources that cannot be deleted automatically any more, and that someone has to delete by
	// hand. The operator stopped waiting for their deletion.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	LeftBehind []LeftBehindResource `json:"leftBehind,omitempty"`

	// waits lists what the operator waits for that has a time limit, and since when.
	//
	// +optional
	// +listType=map
	// +listMapKey=cause
	// +kubebuilder:validation:MaxItems=10
	Waits []WaitStatus `json:"waits,omitempty"`

	// autoNode counts the nodes that were created on demand.
	//
	// +optional
	AutoNode *AutoNodeStatus `json:"autoNode,omitempty"`

	// configuration is the observed state of spec.configuration.
	//
	// +optional
	Configuration *ConfigurationStatus `json:"configuration,omitempty"`

	// lastSuccessfulEtcdBackupURL is the URL of the last backup of etcd that an HCPEtcdBackup requested. It stays when
	// the HCPEtcdBackup is deleted.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https|s3)://')",message="must be an https or s3 URL"
	LastSuccessfulEtcdBackupURL string `json:"lastSuccessfulEtcdBackupURL,omitempty"`

	// secretEncryption records the key with which Secrets are encrypted.
	//
	// +optional
	SecretEncryption *SecretEncryptionStatus `json:"secretEncryption,omitempty"`

	// serviceAccountSigningKey reports the keys of service account tokens, and their rotation.
	//
	// +optional
	ServiceAccountSigningKey *ServiceAccountSigningKeyStatus `json:"serviceAccountSigningKey,omitempty"`
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

// OIDCDocumentsStatus records a bucket with OIDC documents. The names of the cluster's documents start with its
// infraID.
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

// LeftBehindResource is a cloud resource that was not deleted with its cluster, or is not deleted yet.
type LeftBehindResource struct {
	// service is the cloud service of the resource, such as EC2.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service"`

	// type is the type of the resource, such as VPC endpoint.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type,omitempty"`

	// id identifies the resource, or describes how to find it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ID string `json:"id"`

	// reason is a CamelCase word with the cause why the resource could not be deleted.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// WaitCause is what the operator waits for.
// +kubebuilder:validation:Enum=CloudResourceCleanup;OIDCBucket;AWSIdentity;GracePeriod
type WaitCause string

const (
	// WaitForCloudResourceCleanup ends when the hosted cluster has deleted the cloud resources that it created.
	WaitForCloudResourceCleanup WaitCause = "CloudResourceCleanup"
	// WaitForOIDCBucket ends when the hypershift-operator runs with the bucket that has the OIDC documents.
	WaitForOIDCBucket WaitCause = "OIDCBucket"
	// WaitForAWSIdentity ends when AWS accepts the identity of the cluster again.
	WaitForAWSIdentity WaitCause = "AWSIdentity"
	// WaitForGracePeriod ends when the grace period after the deletion of everything else is over.
	WaitForGracePeriod WaitCause = "GracePeriod"
)

// WaitStatus records the start of a wait.
type WaitStatus struct {
	// cause is what the operator waits for.
	//
	// +required
	Cause WaitCause `json:"cause"`

	// since is the start of the wait.
	//
	// +required
	Since metav1.Time `json:"since"`
}

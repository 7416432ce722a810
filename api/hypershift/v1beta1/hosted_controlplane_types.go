package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostedControlPlaneSpec is what a HostedCluster asks of its control plane. The
// hypershift-operator writes it; nobody else does.
type HostedControlPlaneSpec struct {
	// ReleaseImage is the payload of the hosted cluster.
	// +kubebuilder:validation:MaxLength=253
	ReleaseImage string `json:"releaseImage"`
	// ControlPlaneReleaseImage is the payload of the control plane, if another.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ControlPlaneReleaseImage *string `json:"controlPlaneReleaseImage,omitempty"`
	// Channel and UpdateService find updates.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Channel string `json:"channel,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	UpdateService string `json:"updateService,omitempty"`
	// PullSecret is the Secret with the credentials for images.
	PullSecret corev1.LocalObjectReference `json:"pullSecret"`
	// SSHKey is the Secret with the key that opens the nodes.
	// +optional
	SSHKey corev1.LocalObjectReference `json:"sshKey,omitempty"`
	// IssuerURL is the issuer of service account tokens.
	// +kubebuilder:validation:MaxLength=255
	IssuerURL string `json:"issuerURL"`
	// ServiceAccountSigningKey is the Secret with the user's own signing key.
	// +optional
	ServiceAccountSigningKey *corev1.LocalObjectReference `json:"serviceAccountSigningKey,omitempty"`
	// InfraID identifies everything that the cluster has in AWS.
	// +kubebuilder:validation:MaxLength=253
	InfraID string `json:"infraID"`
	// ClusterID is the cluster's UUID.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	ClusterID string `json:"clusterID,omitempty"`
	// Platform is where the workers live.
	Platform PlatformSpec `json:"platform"`
	// DNS names the cluster's public and private zones.
	// +optional
	DNS DNSSpec `json:"dns,omitempty"`
	// Networking of pods, services and machines.
	Networking ClusterNetworking `json:"networking"`
	// Services says how each service of the control plane is published.
	// +listType=map
	// +listMapKey=service
	// +kubebuilder:validation:MaxItems=6
	Services []ServicePublishingStrategyMapping `json:"services"`
	// ControllerAvailabilityPolicy of the control plane.
	// +optional
	ControllerAvailabilityPolicy AvailabilityPolicy `json:"controllerAvailabilityPolicy,omitempty"`
	// InfrastructureAvailabilityPolicy of what runs on the workers.
	// +optional
	InfrastructureAvailabilityPolicy AvailabilityPolicy `json:"infrastructureAvailabilityPolicy,omitempty"`
	// Etcd keeps the state of the hosted cluster.
	Etcd EtcdSpec `json:"etcd"`
	// +optional
	SecretEncryption *SecretEncryptionSpec `json:"secretEncryption,omitempty"`
	// +optional
	Configuration *ClusterConfiguration `json:"configuration,omitempty"`
	// +optional
	OperatorConfiguration *OperatorConfiguration `json:"operatorConfiguration,omitempty"`
	// +optional
	AuditWebhook *corev1.LocalObjectReference `json:"auditWebhook,omitempty"`
	// +optional
	AdditionalTrustBundle *corev1.LocalObjectReference `json:"additionalTrustBundle,omitempty"`
	// +optional
	Autoscaling ClusterAutoscaling `json:"autoscaling,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=255
	// +listType=atomic
	ImageContentSources []ImageContentSource `json:"imageContentSources,omitempty"`
	// +optional
	Capabilities *Capabilities `json:"capabilities,omitempty"`
	// +optional
	OLMCatalogPlacement OLMCatalogPlacement `json:"olmCatalogPlacement,omitempty"`
	// +optional
	FIPS bool `json:"fips,omitempty"`
	// KubeAPIServerDNSName is one more name of the API server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	KubeAPIServerDNSName string `json:"kubeAPIServerDNSName,omitempty"`
	// NodeSelector, Tolerations and Labels go to every pod of the control plane.
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=25
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	Labels map[string]LabelValue `json:"labels,omitempty"`
	// PausedUntil stops every change, as on the HostedCluster.
	// +optional
	PausedUntil *PausedUntil `json:"pausedUntil,omitempty"`
	// +optional
	AutoNode *AutoNode `json:"autoNode,omitempty"`
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`
}

// KubeletVerification says whether the API server knows the kubelets that it calls.
// +kubebuilder:validation:Enum=Enabled
type KubeletVerification string

// KubeletVerificationEnabled means that only certificates that the hosted cluster
// has signed for a node are accepted under its addresses.
const KubeletVerificationEnabled KubeletVerification = "Enabled"

// HostedControlPlaneStatus satisfies version v1beta2 of the control-plane
// contract of Cluster API
// (https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane),
// in initialization, externalManagedControlPlane, version and the conditions
// Available and Paused, and tells the hypershift-operator what the user wants
// to know. The label of the CRD names that one version alone: with two, tools
// that look for the contract of this API version would find either. ready and
// initialized are the fields of its v1beta1, for those who read them.
type HostedControlPlaneStatus struct {
	// Ready says that the hosted API server can be used.
	// +kubebuilder:default=false
	Ready bool `json:"ready"`
	// Initialized says that it could be used at least once.
	// +kubebuilder:default=false
	Initialized bool `json:"initialized"`
	// Initialization is what Cluster API waits for before it makes Machines.
	// +optional
	Initialization *HostedControlPlaneInitialization `json:"initialization,omitempty"`
	// ExternalManagedControlPlane tells Cluster API that no Machine is a
	// control plane.
	// +kubebuilder:default=true
	// +optional
	ExternalManagedControlPlane *bool `json:"externalManagedControlPlane,omitempty"`
	// Version of Kubernetes that the API server runs, as it says itself, such as
	// v1.36.3.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Version string `json:"version,omitempty"`
	// KubeletVerification is Enabled when the API server verifies the serving
	// certificates of kubelets. Clusters have that from the start; one whose nodes
	// are older gets it when all nodes have certificates, and keeps it.
	// +optional
	KubeletVerification KubeletVerification `json:"kubeletVerification,omitempty"`
	// ControlPlaneEndpoint is where the API is reached.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
	// OAuthCallbackURLTemplate is for identity providers.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	OAuthCallbackURLTemplate string `json:"oauthCallbackURLTemplate,omitempty"`
	// KubeConfig is the Secret with the administrator's kubeconfig.
	// +optional
	KubeConfig *KubeconfigSecretRef `json:"kubeConfig,omitempty"`
	// CustomKubeconfig is the one that uses KubeAPIServerDNSName.
	// +optional
	CustomKubeconfig *KubeconfigSecretRef `json:"customKubeconfig,omitempty"`
	// KubeadminPassword is the Secret with the first user's password.
	// +optional
	KubeadminPassword *corev1.LocalObjectReference `json:"kubeadminPassword,omitempty"`
	// VersionStatus is the history of the hosted cluster's payloads.
	// +optional
	VersionStatus *ClusterVersionStatus `json:"versionStatus,omitempty"`
	// ControlPlaneVersion is the history of the payloads that the control plane runs: its own, if it has one.
	// +optional
	ControlPlaneVersion *ControlPlaneVersionStatus `json:"controlPlaneVersion,omitempty"`
	// Platform is what we learned about the cloud.
	// +optional
	Platform *PlatformStatus `json:"platform,omitempty"`
	// WorkerSecurityGroup is what deleting the security group of the workers
	// needs. It is recorded before the group is made.
	// +optional
	WorkerSecurityGroup *WorkerSecurityGroupRecord `json:"workerSecurityGroup,omitempty"`
	// SecretEncryption records which keys may have encrypted what is in etcd. The
	// configuration of the API servers follows from it.
	// +optional
	SecretEncryption *SecretEncryptionStatus `json:"secretEncryption,omitempty"`
	// AWSRolesIsolation is the last check of the roles of the operators that found
	// all of them isolated. Without it each start of the control-plane-operator
	// would check them again.
	// +optional
	AWSRolesIsolation *AWSRolesIsolationRecord `json:"awsRolesIsolation,omitempty"`
	// NodeCount is the number of nodes of the hosted cluster.
	// +optional
	NodeCount *int32 `json:"nodeCount,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HostedControlPlaneInitialization says what has been reached at least once.
// +kubebuilder:validation:MinProperties=1
type HostedControlPlaneInitialization struct {
	// ControlPlaneInitialized says that the hosted API server could be used at
	// least once. It never goes back.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty"`
}

// AWSRolesIsolationRecord is a check in which STS refused a service account of
// the hosted cluster for each role.
type AWSRolesIsolationRecord struct {
	// rolesHash is a hash of the issuer, the roles and the subjects that were
	// checked. Another one means that nothing is known.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	RolesHash string `json:"rolesHash,omitempty"`
	// checkedTime is when STS had refused for all of them.
	// +required
	CheckedTime metav1.Time `json:"checkedTime,omitzero"`
}

// WorkerSecurityGroupRecord says where the security group of the workers is,
// and as whom to call AWS for it.
type WorkerSecurityGroupRecord struct {
	// Region of the VPC.
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region"`
	// VPC of the workers.
	// +kubebuilder:validation:MaxLength=255
	VPC string `json:"vpc"`
	// IssuerURL goes into the tokens by which AWS knows us.
	// +kubebuilder:validation:MaxLength=255
	IssuerURL string `json:"issuerURL"`
	// RoleARN is the role that we assume with those tokens.
	// +kubebuilder:validation:MaxLength=2048
	RoleARN string `json:"roleARN"`
	// Creating says that creation has been reached and the id is not written
	// down yet. An operator that dies in between may have left a group that AWS
	// does not list for a while.
	// +optional
	Creating bool `json:"creating,omitempty"`
	// TagKeys are the keys of the user's tags that the group may carry: one
	// that the user takes back is removed from there.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	TagKeys []string `json:"tagKeys,omitempty"`
}

// APIEndpoint is a host and a port.
type APIEndpoint struct {
	// +kubebuilder:validation:MaxLength=255
	Host string `json:"host"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// KubeconfigSecretRef names a kubeconfig in a Secret.
type KubeconfigSecretRef struct {
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// HostedControlPlane is the control plane of one HostedCluster, in a namespace
// of its own. The hypershift-operator writes its spec, the
// control-plane-operator beside it makes it true.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=hostedcontrolplanes,scope=Namespaced,shortName=hcp;hcps,categories=cluster-api
// +kubebuilder:metadata:labels=cluster.x-k8s.io/v1beta2=v1beta1
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.controlPlaneEndpoint.host`
// +kubebuilder:printcolumn:name="Infrastructure",type=string,JSONPath=`.status.conditions[?(@.type=="InfrastructureReady")].status`
// +kubebuilder:printcolumn:name="Identity",type=string,JSONPath=`.status.conditions[?(@.type=="ValidAWSIdentityProvider")].status`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +genclient
type HostedControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec HostedControlPlaneSpec `json:"spec,omitempty"`
	// +optional
	Status HostedControlPlaneStatus `json:"status,omitempty"`

	unreadable `json:"-"`
}

// HostedControlPlaneList is a list of HostedControlPlanes.
// +kubebuilder:object:root=true
type HostedControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HostedControlPlane `json:"items"`
}

// UnmarshalJSON decodes what can be decoded; see Unreadable.
func (in *HostedControlPlane) UnmarshalJSON(text []byte) (err error) {
	type plain HostedControlPlane
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}

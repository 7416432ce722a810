package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostedControlPlaneSpec is the desired state of a control plane, derived from the HostedCluster. Only the
// hypershift-operator writes it.
type HostedControlPlaneSpec struct {
	// ReleaseImage is the release payload of the hosted cluster.
	// +kubebuilder:validation:MaxLength=253
	ReleaseImage string `json:"releaseImage"`
	// ControlPlaneReleaseImage is the release payload of the control plane, if it differs from ReleaseImage.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ControlPlaneReleaseImage *string `json:"controlPlaneReleaseImage,omitempty"`
	// Channel is the update channel of the cluster. UpdateService is the URL of the update service.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Channel string `json:"channel,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	UpdateService string `json:"updateService,omitempty"`
	// PullSecret is the Secret with the credentials for image registries.
	PullSecret corev1.LocalObjectReference `json:"pullSecret"`
	// SSHKey is the Secret with the public key for login to the nodes.
	// +optional
	SSHKey corev1.LocalObjectReference `json:"sshKey,omitempty"`
	// IssuerURL is the issuer of service account tokens.
	// +kubebuilder:validation:MaxLength=255
	IssuerURL string `json:"issuerURL"`
	// ServiceAccountSigningKey is the Secret with the user's own signing key.
	// +optional
	ServiceAccountSigningKey *corev1.LocalObjectReference `json:"serviceAccountSigningKey,omitempty"`
	// InfraID identifies all AWS resources of the cluster.
	// +kubebuilder:validation:MaxLength=253
	InfraID string `json:"infraID"`
	// ClusterID is the cluster's UUID.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	ClusterID string `json:"clusterID,omitempty"`
	// Platform defines where the workers run.
	Platform PlatformSpec `json:"platform"`
	// DNS defines the cluster's public and private zones.
	// +optional
	DNS DNSSpec `json:"dns,omitempty"`
	// Networking defines the networks of pods, services and machines.
	Networking ClusterNetworking `json:"networking"`
	// Services defines how each service of the control plane is published.
	// +listType=map
	// +listMapKey=service
	// +kubebuilder:validation:MaxItems=6
	Services []ServicePublishingStrategyMapping `json:"services"`
	// ControllerAvailabilityPolicy is the availability policy of the control plane.
	// +optional
	ControllerAvailabilityPolicy AvailabilityPolicy `json:"controllerAvailabilityPolicy,omitempty"`
	// InfrastructureAvailabilityPolicy is the availability policy of the cluster's own workloads on the workers.
	// +optional
	InfrastructureAvailabilityPolicy AvailabilityPolicy `json:"infrastructureAvailabilityPolicy,omitempty"`
	// Etcd configures where the state of the hosted cluster is stored.
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
	// KubeAPIServerDNSName is an additional DNS name of the API server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	KubeAPIServerDNSName string `json:"kubeAPIServerDNSName,omitempty"`
	// NodeSelector, Tolerations and Labels apply to every pod of the control plane.
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
	// PausedUntil stops all changes, as on the HostedCluster.
	// +optional
	PausedUntil *PausedUntil `json:"pausedUntil,omitempty"`
	// +optional
	AutoNode *AutoNode `json:"autoNode,omitempty"`
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`
	// KubeConfig is accepted for compatibility and has no effect. The Secret with the administrator's kubeconfig is in
	// status.kubeConfig.
	// +optional
	KubeConfig *KubeconfigSecretRef `json:"kubeconfig,omitempty"`
}

// KubeletVerification defines whether the API server verifies the serving certificates of kubelets.
// +kubebuilder:validation:Enum=Enabled
type KubeletVerification string

// KubeletVerificationEnabled means that the API server accepts only serving certificates that the hosted cluster has
// signed for a node and its addresses.
const KubeletVerificationEnabled KubeletVerification = "Enabled"

// HostedControlPlaneStatus implements version v1beta2 of the control-plane contract of Cluster API
// (https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane) in the fields initialization,
// externalManagedControlPlane and version and the conditions Available and Paused. Its other fields report the state
// of the control plane to the hypershift-operator. The label of the CRD has only this contract version: with two
// versions, tools that search for the contract of this API version could find either. ready and initialized are
// fields of the v1beta1 contract, for clients that use them.
type HostedControlPlaneStatus struct {
	// Ready is true while the hosted API server is available.
	// +kubebuilder:default=false
	Ready bool `json:"ready"`
	// Initialized is true once the hosted API server has been available.
	// +kubebuilder:default=false
	Initialized bool `json:"initialized"`
	// Initialization is the state that Cluster API waits for before it creates Machines.
	// +optional
	Initialization *HostedControlPlaneInitialization `json:"initialization,omitempty"`
	// ExternalManagedControlPlane is true: no Machine of Cluster API is part of the control plane.
	// +kubebuilder:default=true
	// +optional
	ExternalManagedControlPlane *bool `json:"externalManagedControlPlane,omitempty"`
	// Version is the Kubernetes version that the API server reports, such as v1.36.3.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Version string `json:"version,omitempty"`
	// KubeletVerification is Enabled when the API server verifies the serving certificates of kubelets. New clusters
	// have this from the start. In a cluster with older nodes it starts when all nodes have certificates. It is never
	// reset.
	// +optional
	KubeletVerification KubeletVerification `json:"kubeletVerification,omitempty"`
	// ControlPlaneEndpoint is the address of the API server.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
	// OAuthCallbackURLTemplate is the callback URL for identity providers.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	OAuthCallbackURLTemplate string `json:"oauthCallbackURLTemplate,omitempty"`
	// KubeConfig is the Secret with the administrator's kubeconfig.
	// +optional
	KubeConfig *KubeconfigSecretRef `json:"kubeConfig,omitempty"`
	// CustomKubeconfig is the Secret with the kubeconfig that uses KubeAPIServerDNSName.
	// +optional
	CustomKubeconfig *KubeconfigSecretRef `json:"customKubeconfig,omitempty"`
	// KubeadminPassword is the Secret with the first user's password.
	// +optional
	KubeadminPassword *corev1.LocalObjectReference `json:"kubeadminPassword,omitempty"`
	// VersionStatus is the version history of the hosted cluster.
	// +optional
	VersionStatus *ClusterVersionStatus `json:"versionStatus,omitempty"`
	// ControlPlaneVersion is the version history of the control plane. It differs from VersionStatus if the control
	// plane has its own release.
	// +optional
	ControlPlaneVersion *ControlPlaneVersionStatus `json:"controlPlaneVersion,omitempty"`
	// ReleaseImage is the release payload of VersionStatus.Desired.
	//
	// Deprecated: Use versionStatus.desired.image.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ReleaseImage string `json:"releaseImage,omitempty"`
	// LastReleaseImageTransitionTime is the time at which the control plane started to change to ReleaseImage.
	//
	// Deprecated: Use versionStatus.history[0].startedTime.
	// +optional
	LastReleaseImageTransitionTime *metav1.Time `json:"lastReleaseImageTransitionTime,omitempty"`
	// Configuration is the observed state of the configuration.
	// +optional
	Configuration *ConfigurationStatus `json:"configuration,omitempty"`
	// Platform is the observed state of the platform.
	// +optional
	Platform *PlatformStatus `json:"platform,omitempty"`
	// WorkerSecurityGroup is the data that deletion of the workers' security group needs. It is recorded before the
	// group is created.
	// +optional
	WorkerSecurityGroup *WorkerSecurityGroupRecord `json:"workerSecurityGroup,omitempty"`
	// SecretEncryption reports the key with which Secrets are encrypted, and changes of it.
	// +optional
	SecretEncryption *SecretEncryptionStatus `json:"secretEncryption,omitempty"`
	// SecretEncryptionRecord records the keys with which data in etcd may be encrypted. The configuration of the API
	// servers is derived from it.
	// +optional
	SecretEncryptionRecord *SecretEncryptionRecord `json:"secretEncryptionRecord,omitempty"`
	// AWSRolesIsolation is the last check of the operators' roles that found all of them isolated. It saves the
	// calls of STS when the control-plane-operator restarts.
	// +optional
	AWSRolesIsolation *AWSRolesIsolationRecord `json:"awsRolesIsolation,omitempty"`
	// ServiceAccountKeys reports how far the control plane uses the keys of service account tokens during a rotation.
	// +optional
	ServiceAccountKeys *ServiceAccountKeysStatus `json:"serviceAccountKeys,omitempty"`
	// ServedEndpointAccess is the access mode whose load balancers, Routes and endpoints exist. It is that of
	// spec.platform.aws.endpointAccess, or PublicAndPrivate as long as machines use a path that spec does not have.
	// +optional
	ServedEndpointAccess AWSEndpointAccessType `json:"servedEndpointAccess,omitempty"`
	// NodeAccess records by which paths nodes reach the control plane. Other paths are removed.
	// +optional
	NodeAccess *NodeAccessRecord `json:"nodeAccess,omitempty"`
	// AutoNode counts the nodes that were created on demand.
	// +optional
	AutoNode *AutoNodeStatus `json:"autoNode,omitempty"`
	// Ingress is the observed state of the ingress controller, if the cluster has one.
	// +optional
	Ingress *IngressStatus `json:"ingress,omitempty"`
	// ImageRegistry is the data that deletion of the bucket of the image registry needs. It is recorded before the bucket is created, and stays
	// when the capability is removed.
	// +optional
	ImageRegistry *ImageRegistryRecord `json:"imageRegistry,omitempty"`
	// IngressRecords is the data that deletion of the DNS records of applications needs. It is recorded before a record is created.
	// +optional
	IngressRecords *IngressRecordsRecord `json:"ingressRecords,omitempty"`
	// EtcdRestore is the UID of the EtcdRestore whose backup etcd begins with, or has begun with.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	EtcdRestore string `json:"etcdRestore,omitempty"`
	// CertificatesExpire is when the first certificate of the control plane expires, of those that the operator issues and of those that users
	// bring. The operator issues its certificates again long before. It is absent until the first release is rolled out.
	// +optional
	CertificatesExpire *metav1.Time `json:"certificatesExpire,omitempty"`
	// NodeCount is the number of nodes of the hosted cluster.
	// +optional
	NodeCount *int32 `json:"nodeCount,omitempty"`
	// MachinesWithoutNode describes machines whose instances have run for minutes and are not nodes yet. It has at most
	// 20 of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=20
	MachinesWithoutNode []MachineWithoutNode `json:"machinesWithoutNode,omitempty"`
	// RemainingCloudResources lists the cloud resources that the hosted cluster created and that are not removed yet
	// while the cluster is being deleted. Nothing removes those with a reason.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	RemainingCloudResources []LeftBehindResource `json:"remainingCloudResources,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HostedControlPlaneInitialization records states that were reached at least once.
// +kubebuilder:validation:MinProperties=1
type HostedControlPlaneInitialization struct {
	// ControlPlaneInitialized is true once the hosted API server has been available. It never becomes false again.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty"`
}

// MachineWithoutNode describes why a machine has not joined the cluster, as far as it is known.
type MachineWithoutNode struct {
	// name is the name of the Machine of Cluster API.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// reason is the cause in one word. The conditions of the NodePool have the same reason.
	// +required
	// +kubebuilder:validation:Enum=InstanceNotRunning;InstanceImpaired;InstanceNotBooted;NodeProgramsUnavailable;APIServerUnreachable;NodeRefused;NodeNotJoined
	Reason string `json:"reason,omitempty"`
	// message describes the cause. It may quote the console of the instance, which everyone with access to the
	// instance can write.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// NodeAccessRecord records by which paths, Public or Private, nodes reach the control plane.
type NodeAccessRecord struct {
	// observedGeneration is the generation of spec of this record. Machines may use other paths since a later change.
	// +required
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration"`
	// inUse has the path of new machines, and those that existing machines use or may use.
	// +required
	InUse AWSEndpointAccessType `json:"inUse,omitempty"`
	// tunnels is the path of the tunnels from the nodes to the control plane. It changes after all machines use the path
	// of new ones.
	// +required
	Tunnels AWSEndpointAccessType `json:"tunnels,omitempty"`
}

// AWSRolesIsolationRecord records a check in which STS denied every role to the service accounts of the hosted cluster.
type AWSRolesIsolationRecord struct {
	// rolesHash is a hash of the issuer, the roles and the subjects of the check. The record is ignored if they have
	// changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	RolesHash string `json:"rolesHash,omitempty"`
	// checkedTime is the time of the check.
	// +required
	CheckedTime metav1.Time `json:"checkedTime,omitzero"`
}

// WorkerSecurityGroupRecord records the location of the workers' security group, and the AWS identity to manage it
// with.
type WorkerSecurityGroupRecord struct {
	// Region is the region of the VPC.
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region"`
	// VPC is the VPC of the workers.
	// +kubebuilder:validation:MaxLength=255
	VPC string `json:"vpc"`
	// IssuerURL is the issuer of the tokens with which the operator authenticates to AWS.
	// +kubebuilder:validation:MaxLength=255
	IssuerURL string `json:"issuerURL"`
	// RoleARN is the role that the operator assumes with those tokens.
	// +kubebuilder:validation:MaxLength=2048
	RoleARN string `json:"roleARN"`
	// Creating is true while the operator has started to create the group without having recorded its id. If the
	// operator stops at this point, there may be a group that AWS does not list for a while.
	// +optional
	Creating bool `json:"creating,omitempty"`
	// TagKeys are the keys of the user's tags that the group may have. When the user removes a tag, it is removed
	// from the group.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	TagKeys []string `json:"tagKeys,omitempty"`
}

// IngressStatus is the observed state of the ingress controller.
type IngressStatus struct {
	// loadBalancer is the host name of its load balancer.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LoadBalancer string `json:"loadBalancer,omitempty"`
}

// IngressRecordsRecord records where DNS records of applications may exist, and the AWS identity to manage them with.
type IngressRecordsRecord struct {
	// region is the region of the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region,omitempty"`
	// issuerURL is the issuer of the tokens with which the operator authenticates to AWS.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	IssuerURL string `json:"issuerURL,omitempty"`
	// roleARN is the role that the operator assumes with those tokens.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	RoleARN string `json:"roleARN,omitempty"`
	// names are the names of the records: one, and others while the domain is being changed.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=255
	Names []string `json:"names,omitempty"`
	// zoneIDs are the hosted zones of the records.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MaxLength=265
	ZoneIDs []string `json:"zoneIDs,omitempty"`
	// targets are the host names to which the records may lead: the load balancer, and others while it is being replaced. A record that
	// leads elsewhere belongs to somebody else.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=253
	Targets []string `json:"targets,omitempty"`
}

// APIEndpoint is a host and a port.
type APIEndpoint struct {
	// +kubebuilder:validation:MaxLength=255
	Host string `json:"host"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// KubeconfigSecretRef refers to a kubeconfig in a Secret.
type KubeconfigSecretRef struct {
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// HostedControlPlane is the control plane of one HostedCluster, in its own namespace. The hypershift-operator writes
// its spec. The control-plane-operator in the same namespace reconciles it.
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

// UnmarshalJSON decodes all fields that can be decoded; see Unreadable.
func (in *HostedControlPlane) UnmarshalJSON(text []byte) (err error) {
	type plain HostedControlPlane
	in.problem, err = decode(text, (*plain)(in), map[string]any{
		"apiVersion": &in.APIVersion, "kind": &in.Kind, "metadata": &in.ObjectMeta, "spec": &in.Spec, "status": &in.Status,
	})
	return err
}

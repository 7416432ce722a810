package v1beta1

import corev1 "k8s.io/api/core/v1"

// AvailabilityPolicy defines whether a workload has several replicas.
//
// +kubebuilder:validation:Enum=HighlyAvailable;SingleReplica
type AvailabilityPolicy string

const (
	// HighlyAvailable runs replicas in several zones.
	HighlyAvailable AvailabilityPolicy = "HighlyAvailable"
	// SingleReplica runs one replica.
	SingleReplica AvailabilityPolicy = "SingleReplica"
)

// OLMCatalogPlacement defines where operator catalogs run.
//
// +kubebuilder:validation:Enum=management;guest
type OLMCatalogPlacement string

const (
	// ManagementOLMCatalogPlacement runs them in the namespace of the control plane.
	ManagementOLMCatalogPlacement OLMCatalogPlacement = "management"
	// GuestOLMCatalogPlacement runs them on the workers.
	GuestOLMCatalogPlacement OLMCatalogPlacement = "guest"
)

// HostedClusterSpec is the desired state of a HostedCluster.
//
// The rules here are for fields that can be neither changed nor removed once they are set. They are at the root,
// because a rule at such a field does not run when the field is absent before or after the change. A user could
// remove the field and add it again.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.infraID) || (has(self.infraID) && self.infraID == oldSelf.infraID)",message="infraID, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterID) || (has(self.clusterID) && self.clusterID == oldSelf.clusterID)",message="clusterID, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.platform.aws) || has(self.platform.aws)",message="platform.aws, once set, cannot be removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.dns) || !has(oldSelf.dns.publicZoneID) || (has(self.dns) && has(self.dns.publicZoneID) && self.dns.publicZoneID == oldSelf.dns.publicZoneID)",message="dns.publicZoneID, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.dns) || !has(oldSelf.dns.privateZoneID) || (has(self.dns) && has(self.dns.privateZoneID) && self.dns.privateZoneID == oldSelf.dns.privateZoneID)",message="dns.privateZoneID, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.dns) || !has(oldSelf.dns.baseDomainPrefix) || (has(self.dns) && has(self.dns.baseDomainPrefix) && self.dns.baseDomainPrefix == oldSelf.dns.baseDomainPrefix)",message="dns.baseDomainPrefix, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.networking.networkType) || (has(self.networking.networkType) && self.networking.networkType == oldSelf.networking.networkType)",message="networking.networkType cannot be changed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.networking.machineNetwork) || (has(self.networking.machineNetwork) && self.networking.machineNetwork == oldSelf.networking.machineNetwork)",message="networking.machineNetwork, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.networking.apiServer) || !has(oldSelf.networking.apiServer.advertiseAddress) || (has(self.networking.apiServer) && has(self.networking.apiServer.advertiseAddress) && self.networking.apiServer.advertiseAddress == oldSelf.networking.apiServer.advertiseAddress)",message="networking.apiServer.advertiseAddress, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.networking.apiServer) || !has(oldSelf.networking.apiServer.port) || (has(self.networking.apiServer) && has(self.networking.apiServer.port) && self.networking.apiServer.port == oldSelf.networking.apiServer.port)",message="networking.apiServer.port, once set, can be neither changed nor removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.secretEncryption) || has(self.secretEncryption)",message="secretEncryption, once set, cannot be removed: the Secrets in etcd could not be read without it"
// +kubebuilder:validation:XValidation:rule="(has(self.fips) && self.fips) == (has(oldSelf.fips) && oldSelf.fips)",message="fips cannot be changed"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceAccountSigningKey) || self.issuerURL != 'https://kubernetes.default.svc'",message="serviceAccountSigningKey needs issuerURL: whoever brings the key publishes its documents there"
// +kubebuilder:validation:XValidation:rule="!has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) || !has(self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork) || !self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork || self.networking.networkType == 'Other'",message="disableMultiNetwork is possible only when networking.networkType is Other"
// +kubebuilder:validation:XValidation:rule="!has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) || !has(self.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig) || self.networking.networkType == 'OVNKubernetes'",message="ovnKubernetesConfig is possible only when networking.networkType is OVNKubernetes"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.operatorConfiguration) || !has(oldSelf.operatorConfiguration.clusterNetworkOperator) || !has(oldSelf.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig) || (has(self.operatorConfiguration) && has(self.operatorConfiguration.clusterNetworkOperator) && has(self.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig))",message="operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig, once set, cannot be removed"
// +kubebuilder:validation:XValidation:rule="!has(self.configuration) || !has(self.configuration.apiServer) || !has(self.configuration.apiServer.servingCerts) || !has(self.configuration.apiServer.servingCerts.namedCertificates) || !self.services.exists(s, s.service == 'APIServer' && has(s.servicePublishingStrategy.loadBalancer) && has(s.servicePublishingStrategy.loadBalancer.hostname) && self.configuration.apiServer.servingCerts.namedCertificates.exists(c, has(c.names) && s.servicePublishingStrategy.loadBalancer.hostname in c.names))",message="the load balancer host name of the APIServer service must not be among the names of configuration.apiServer.servingCerts.namedCertificates: the workers must see our own certificate there"
type HostedClusterSpec struct {
	// release is the release payload of the cluster.
	//
	// +required
	Release Release `json:"release,omitzero"`

	// controlPlaneRelease is the release payload of the management side of the control plane, if it differs from
	// release. Without it release is used for both.
	//
	// +optional
	ControlPlaneRelease *Release `json:"controlPlaneRelease,omitempty"`

	// clusterID is a UUID that identifies the cluster in metrics and reports. If it is empty, it is generated at
	// creation. It cannot be changed.
	//
	// +optional
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="!format.uuid().validate(self).hasValue()",message="must be a UUID"
	ClusterID string `json:"clusterID,omitempty"`

	// infraID identifies the cluster in the cloud. It is part of names and tags there, and is unique to one cluster.
	// If it is empty, it is generated at creation. It cannot be changed. Its length is limited by the key of an AWS
	// tag, kubernetes.io/cluster/<infraID>, which has at most 128 characters.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=106
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be made of dot-separated labels of lower-case letters, digits and dashes"
	InfraID string `json:"infraID,omitempty"`

	// updateService is the URL of the service that recommends updates. The default is the vendor's service.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="isURL(self)",message="must be a URL"
	UpdateService string `json:"updateService,omitempty"`

	// channel is the stream of updates to follow, such as stable-4.21.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Channel string `json:"channel,omitempty"`

	// kubeAPIServerDNSName is an additional DNS name of the API server. The operator creates a second kubeconfig with
	// this name. The user creates the DNS record.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !format.dns1123Subdomain().validate(self).hasValue()",message="must be empty or a host name"
	KubeAPIServerDNSName string `json:"kubeAPIServerDNSName,omitempty"`

	// platform defines where the workers run.
	//
	// +required
	Platform PlatformSpec `json:"platform,omitzero"`

	// controllerAvailabilityPolicy defines whether the components of the control plane have several replicas. It
	// cannot be changed.
	//
	// +optional
	// +kubebuilder:default=HighlyAvailable
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="controllerAvailabilityPolicy cannot be changed"
	ControllerAvailabilityPolicy AvailabilityPolicy `json:"controllerAvailabilityPolicy,omitempty"`

	// infrastructureAvailabilityPolicy defines whether the cluster's own workloads on the workers have several
	// replicas.
	//
	// +optional
	// +kubebuilder:default=SingleReplica
	InfrastructureAvailabilityPolicy AvailabilityPolicy `json:"infrastructureAvailabilityPolicy,omitempty"`

	// dns configures the DNS names of the cluster.
	//
	// +optional
	DNS DNSSpec `json:"dns,omitzero"`

	// networking configures the networks of the cluster.
	//
	// +optional
	// +kubebuilder:default={networkType: "OVNKubernetes", clusterNetwork: {{cidr: "10.132.0.0/14"}}, serviceNetwork: {{cidr: "172.31.0.0/16"}}}
	Networking ClusterNetworking `json:"networking,omitzero"`

	// autoscaling configures the cluster autoscaler for all node pools.
	//
	// +optional
	Autoscaling ClusterAutoscaling `json:"autoscaling,omitzero"`

	// autoNode creates nodes on demand, in addition to the node pools.
	//
	// +optional
	AutoNode *AutoNode `json:"autoNode,omitempty"`

	// etcd configures where the cluster stores its state.
	//
	// +optional
	// +kubebuilder:default={managementType: "Managed", managed: {storage: {type: "PersistentVolume", persistentVolume: {size: "8Gi"}}}}
	Etcd EtcdSpec `json:"etcd,omitzero"`

	// services defines how the endpoints of the control plane are published. The list cannot be changed.
	//
	// +required
	// +listType=map
	// +listMapKey=service
	// +kubebuilder:validation:MinItems=4
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="services cannot be changed"
	// +kubebuilder:validation:XValidation:rule="self.filter(s, has(s.servicePublishingStrategy.route) && has(s.servicePublishingStrategy.route.hostname)).all(a, self.exists_one(b, (has(b.servicePublishingStrategy.route) && has(b.servicePublishingStrategy.route.hostname) && b.servicePublishingStrategy.route.hostname == a.servicePublishingStrategy.route.hostname) || (has(b.servicePublishingStrategy.loadBalancer) && has(b.servicePublishingStrategy.loadBalancer.hostname) && b.servicePublishingStrategy.loadBalancer.hostname == a.servicePublishingStrategy.route.hostname))) && self.filter(s, has(s.servicePublishingStrategy.loadBalancer) && has(s.servicePublishingStrategy.loadBalancer.hostname)).all(a, self.exists_one(b, has(b.servicePublishingStrategy.loadBalancer) && has(b.servicePublishingStrategy.loadBalancer.hostname) && b.servicePublishingStrategy.loadBalancer.hostname == a.servicePublishingStrategy.loadBalancer.hostname))",message="each service needs a host name of its own"
	Services []ServicePublishingStrategyMapping `json:"services,omitempty"`

	// pullSecret refers to a Secret in the namespace of this object with the credentials for images under the key
	// .dockerconfigjson.
	//
	// +required
	PullSecret corev1.LocalObjectReference `json:"pullSecret,omitzero"`

	// sshKey refers to a Secret in the namespace of this object with a public key for login to the workers under the
	// key id_rsa.pub.
	//
	// +optional
	SSHKey corev1.LocalObjectReference `json:"sshKey,omitzero"`

	// issuerURL is the issuer of the service accounts' tokens. On AWS the documents with which IAM verifies these
	// tokens are published at this URL. It cannot be changed.
	//
	// +optional
	// +kubebuilder:default="https://kubernetes.default.svc"
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="isURL(self)",message="must be a URL"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="issuerURL cannot be changed"
	IssuerURL string `json:"issuerURL,omitempty"`

	// serviceAccountSigningKey refers to a Secret in the namespace of this object. Its key "key" is a private key
	// in PEM, P-256 or RSA, that signs the service accounts' tokens. Another key is rolled out in stages: it signs after
	// AWS accepts it, and the previous one is trusted until its tokens have expired. The optional key old-key.pub is a
	// public key that is trusted in addition. Without this field the operator generates a key. With it the user
	// publishes the documents at issuerURL.
	//
	// +optional
	ServiceAccountSigningKey *corev1.LocalObjectReference `json:"serviceAccountSigningKey,omitempty"`

	// configuration is the global configuration of the cluster.
	//
	// +optional
	Configuration *ClusterConfiguration `json:"configuration,omitempty"`

	// operatorConfiguration configures operators of the cluster.
	//
	// +optional
	OperatorConfiguration *OperatorConfiguration `json:"operatorConfiguration,omitempty"`

	// auditWebhook refers to a Secret in the namespace of this object with the key webhook-kubeconfig. Audit events
	// are sent to the server in this kubeconfig.
	//
	// +optional
	AuditWebhook *corev1.LocalObjectReference `json:"auditWebhook,omitempty"`

	// imageContentSources lists mirrors of image repositories.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=255
	ImageContentSources []ImageContentSource `json:"imageContentSources,omitempty"`

	// additionalTrustBundle refers to a ConfigMap in the namespace of this object with the key ca-bundle.crt:
	// certificate authorities that the control plane and the workers trust.
	//
	// +optional
	AdditionalTrustBundle *corev1.LocalObjectReference `json:"additionalTrustBundle,omitempty"`

	// secretEncryption configures how Secrets are encrypted in etcd. It cannot be removed.
	//
	// +optional
	SecretEncryption *SecretEncryptionSpec `json:"secretEncryption,omitempty"`

	// fips defines whether nodes and control plane use cryptography that was validated under FIPS 140. It cannot be
	// changed.
	//
	// +optional
	FIPS bool `json:"fips,omitempty"`

	// pausedUntil stops all changes to the cluster, but not its deletion.
	//
	// +optional
	PausedUntil *PausedUntil `json:"pausedUntil,omitempty"`

	// olmCatalogPlacement defines where operator catalogs run. It cannot be changed.
	//
	// +optional
	// +kubebuilder:default=management
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="olmCatalogPlacement cannot be changed"
	OLMCatalogPlacement OLMCatalogPlacement `json:"olmCatalogPlacement,omitempty"`

	// nodeSelector selects the nodes on which the control plane runs.
	//
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="each key of nodeSelector must be the key of a label, such as example.com/name"
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// tolerations permits the control plane to run on nodes with these taints.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=25
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// labels are added to every pod of the control plane. Labels that select pods in Services and network policies
	// are reserved: app, pod-template-hash, controller-revision-hash, and keys of the domains
	// hypershift.openshift.io, network.openshift.io, cluster.x-k8s.io, kubernetes.io and k8s.io, except
	// app.kubernetes.io.
	//
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="each key of labels must be the key of a label, such as example.com/name"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.startsWith('app.kubernetes.io/') || !k.matches('^(app|pod-template-hash|controller-revision-hash)$|^([^/]*[.])?(hypershift[.]openshift[.]io|network[.]openshift[.]io|cluster[.]x-k8s[.]io|kubernetes[.]io|k8s[.]io)/'))",message="labels has a reserved key: use keys of your own domain, such as example.com/name"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// capabilities turns optional parts of the release on and off.
	//
	// +optional
	// +kubebuilder:default={}
	Capabilities *Capabilities `json:"capabilities,omitempty"`

	// monitoring configures which metrics of the control plane the users of the cluster can see.
	//
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="!format.labelValue().validate(self).hasValue()",message="must be empty or at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
type LabelValue string

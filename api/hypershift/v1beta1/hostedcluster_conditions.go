package v1beta1

// Condition types of a HostedCluster that sum it up. `kubectl get hostedcluster` shows Available and Progressing.
const (
	// HostedClusterAvailable says that the control plane serves. If False, the message names the first thing that is missing;
	// the condition of the same name below says more.
	HostedClusterAvailable = "Available"
	// HostedClusterProgressing says that a release is being rolled out. False is the calm state. If the reason is Blocked,
	// correct what the condition named in the message complains about.
	HostedClusterProgressing = "Progressing"
	// HostedClusterDegraded says that parts of the control plane have fewer pods than they should. False is good. If True for
	// long, look at the pods that the message names.
	HostedClusterDegraded = "Degraded"
	// ReconciliationActive says that changes are being acted on. If False, spec.pausedUntil stops them; remove it to go on.
	ReconciliationActive = "ReconciliationActive"
	// ReconciliationSucceeded says that the last attempt to bring the cluster into the wanted state met no error. If False,
	// the message holds the errors; it is tried again by itself.
	ReconciliationSucceeded = "ReconciliationSucceeded"
	// SupportedFields says that this version acts on every field of spec. If False, the message names those that it accepts
	// and does nothing about yet; remove them, or do not rely on them.
	SupportedFields = "SupportedFields"
	// NetworkPoliciesEnforced says that the management cluster enforces NetworkPolicies: a connection that they forbid was
	// tried on control planes of this management cluster, and failed. False also if the operator's own pod reached the
	// identity of its node although policies forbid that. If False, pods of other tenants and of this one reach
	// what they must not; have the administrator of the management cluster make its network enforce them (docs/install.md).
	// Unknown until a control plane could be tried. Absent if the operator does not run as a pod.
	NetworkPoliciesEnforced = "NetworkPoliciesEnforced"
)

// Condition types of a HostedCluster about what the user wrote and brought. While one of them is False nothing further is
// rolled out.
const (
	// ValidHostedClusterConfiguration says that spec makes sense. If False, change what the message names.
	ValidHostedClusterConfiguration = "ValidConfiguration"
	// SupportedHostedCluster says that this installation can run such a cluster. If False, the operator lacks something that
	// spec asks for, such as the credentials for private clusters; the message says which flag of the installation is missing.
	SupportedHostedCluster = "SupportedHostedCluster"
	// ValidReleaseImage says that the release payload can be read and is one that we can run, coming from the present one.
	// If False, choose another spec.release.image, or correct the pull secret.
	ValidReleaseImage = "ValidReleaseImage"
	// ValidProxyConfiguration says that the trusted certificates of the proxy can be read and have not expired. If False,
	// correct the ConfigMap that spec.configuration.proxy.trustedCA names.
	ValidProxyConfiguration = "ValidProxyConfiguration"
	// PlatformCredentialsFound says that the parts of the control plane have their cloud credentials. If False, complete
	// spec.platform.aws.rolesRef.
	PlatformCredentialsFound = "PlatformCredentialsFound"
	// UnmanagedEtcdAvailable says that the Secret for the user's own etcd has its three keys. Absent for a managed etcd. If
	// False, complete the Secret that spec.etcd.unmanaged.tls.clientSecret names.
	UnmanagedEtcdAvailable = "UnmanagedEtcdAvailable"
)

// Condition types of a HostedCluster about AWS. AWSEndpointServiceAvailable and AWSEndpointAvailable, which sum up all its
// AWSEndpointServices, stand there.
const (
	// ValidOIDCConfiguration says that the documents by which IAM trusts the cluster's tokens are published and match its
	// signing key. If False, correct the bucket or the issuer URL that the message names; or, if serviceAccountSigningKey is
	// set, publish the documents.
	ValidOIDCConfiguration = "ValidOIDCConfiguration"
	// ValidAWSIdentityProvider says that AWS accepts the cluster's tokens. If False, compare the IAM OIDC provider and the
	// trust policies of the roles with spec.issuerURL. Unknown means that AWS could not be asked.
	ValidAWSIdentityProvider = "ValidAWSIdentityProvider"
	// AWSRolesIsolated says that no role of the cluster's operators accepts a token that an administrator of the hosted cluster
	// can mint. If False, name the subjects in the message in the trust policies of the roles. Unknown means that AWS could not
	// be asked. The cluster works either way.
	AWSRolesIsolated = "AWSRolesIsolated"
	// ValidAWSKMSConfig says that the key for secret encryption can be used. If False, correct the key's ARN or the policy of
	// the role in spec.secretEncryption.kms.aws. Unknown if no such key is asked for.
	ValidAWSKMSConfig = "ValidAWSKMSConfig"
	// AWSDefaultSecurityGroupCreated says that the security group of the workers is there. If False, the message holds the
	// answer of AWS, most often a permission that the control-plane-operator's role lacks.
	AWSDefaultSecurityGroupCreated = "AWSDefaultSecurityGroupCreated"
	// AWSDefaultSecurityGroupDeleted says that this group is gone again. Only while the cluster is being deleted. If False,
	// the message names what still uses it.
	AWSDefaultSecurityGroupDeleted = "AWSDefaultSecurityGroupDeleted"
	// PublicEndpointExposed says that the API server can be reached from the internet, as spec.platform.aws.endpointAccess
	// asks. Absent for a private cluster.
	PublicEndpointExposed = "PublicEndpointExposed"
)

// Condition types that the HostedControlPlane carries first and the HostedCluster repeats: the parts of the control plane.
const (
	// InfrastructureReady says that load balancers and routes have host names by which the control plane is reached. If False,
	// the message names the Service that is waiting; its events say what the cloud answered.
	InfrastructureReady = "InfrastructureReady"
	// EtcdAvailable says that the hosted API server reaches its etcd. If False, look at the etcd pods and their volumes.
	// Unknown as long as the API server, which alone knows, cannot be asked.
	EtcdAvailable = "EtcdAvailable"
	// KubeAPIServerAvailable says that the hosted API server answers and is ready. If False, the message says how it was asked
	// and what came of it.
	KubeAPIServerAvailable = "KubeAPIServerAvailable"
	// KubeAPIServerReachable says that the hosted API server answers where it is published, by the load balancers that users
	// and nodes take. If False, look at the Service that the message names. Unknown if the management cluster cannot reach the
	// load balancer and the API server answers behind it. Absent if the hypershift-operator runs with
	// --check-load-balancers=false.
	KubeAPIServerReachable = "KubeAPIServerReachable"
	// IgnitionEndpointAvailable says that new nodes can fetch their configuration. If False, look at the Deployment
	// ignition-server.
	IgnitionEndpointAvailable = "IgnitionEndpointAvailable"
	// ExternalDNSReachable says that the host names in spec.services resolve. Unknown if there are none. If False, wait for
	// external-dns, or make the records yourself.
	ExternalDNSReachable = "ExternalDNSReachable"
	// ValidHostedControlPlaneConfiguration says that the control-plane-operator can make what the configuration asks for. If
	// False, change what the message names.
	ValidHostedControlPlaneConfiguration = "ValidHostedControlPlaneConfiguration"
	// ValidReleaseInfo says that the payload has an image for every part. If False, the message names the missing ones;
	// choose a complete payload.
	ValidReleaseInfo = "ValidReleaseInfo"
	// ValidIDPConfiguration says that the identity providers of spec.configuration.oauth can be used. If False, correct the
	// one that the message names.
	ValidIDPConfiguration = "ValidIDPConfiguration"
	// ConfigOperatorReconciliationSucceeded says that what the control plane sets up inside the hosted cluster is in place. If
	// False, the message holds the errors; it is tried again by itself.
	ConfigOperatorReconciliationSucceeded = "ConfigOperatorReconciliationSucceeded"
	// DataPlaneConnectionAvailable says that the control plane reaches the nodes. Unknown without nodes. If False, look at the
	// konnectivity pods on both sides, and at the firewall between them.
	DataPlaneConnectionAvailable = "DataPlaneConnectionAvailable"
	// KubeletServingCertificatesSigned says that the kubelet of every node serves with a certificate that the hosted cluster has
	// signed, and that the API server verifies them. Unknown without nodes. If False, replace the nodes that the message names:
	// until then, one node could answer in the place of another. Absent if the control plane makes no certificates.
	KubeletServingCertificatesSigned = "KubeletServingCertificatesSigned"
	// ControlPlaneConnectionAvailable says that the nodes reach the API server. Unknown without nodes. If False, look at DNS
	// and firewall on the nodes' side.
	ControlPlaneConnectionAvailable = "ControlPlaneConnectionAvailable"
	// EtcdDataEncryptionUpToDate says that all Secrets are encrypted with the key that spec asks for. Absent without
	// encryption. While it is False keep both keys.
	EtcdDataEncryptionUpToDate = "EtcdDataEncryptionUpToDate"
	// EtcdBackupSucceeded says that the last backup of etcd was stored. If False, the message says why not.
	EtcdBackupSucceeded = "EtcdBackupSucceeded"
	// EtcdRecoveryActive says that a member of etcd is being replaced. False is the calm state.
	EtcdRecoveryActive = "EtcdRecoveryActive"
	// HostedClusterRestoredFromBackup says that a cluster restored from a backup serves again.
	HostedClusterRestoredFromBackup = "HostedClusterRestoredFromBackup"
	// AutoNodeEnabled says that nodes are made by need. If False, look at the Deployment karpenter.
	AutoNodeEnabled = "AutoNodeEnabled"
)

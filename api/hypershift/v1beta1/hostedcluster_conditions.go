package v1beta1

// Condition types of a HostedCluster that summarize its state. `kubectl get hostedcluster` shows Available and
// Progressing. Ready and Stalled are those that `kubectl wait`, Flux and other tools understand (kstatus).
const (
	// HostedClusterReady is True when the cluster is Available, its API server reaches its nodes, and nothing of its spec
	// remains to be done: Progressing is False. It is False during an upgrade, and until the nodes of NodePools exist.
	HostedClusterReady = "Ready"
	// HostedClusterStalled is True while waiting does not help: the condition that the message names requires a change of spec or
	// annotations, or spec.pausedUntil stops all changes. Otherwise it is absent.
	HostedClusterStalled = "Stalled"
	// HostedClusterAsleep is True while the control plane has no pods because the cluster sleeps. The message lists what still costs. It
	// is False while the cluster falls asleep, wakes, or cannot do either, and absent without annotations about sleep.
	HostedClusterAsleep = "Asleep"
	// HostedClusterAvailable is True when the control plane serves requests. The message names the first component that is not
	// available. See the condition of that name.
	HostedClusterAvailable = "Available"
	// HostedClusterProgressing is True while a release is being rolled out, or machines follow a change of
	// endpointAccess. False is normal. If the reason is Blocked, resolve the condition that the message names.
	HostedClusterProgressing = "Progressing"
	// HostedClusterDegraded is True while components have fewer ready pods than desired. False is normal. If it stays True, check
	// the pods that the message names.
	HostedClusterDegraded = "Degraded"
	// ReconciliationActive is False while spec.pausedUntil stops changes. Remove it to continue.
	ReconciliationActive = "ReconciliationActive"
	// ReconciliationSucceeded is True when the last reconcile had no error.
	ReconciliationSucceeded = "ReconciliationSucceeded"
	// SupportedFields is True when this version supports all fields in spec. The message lists fields that are accepted but have no
	// effect. Remove them, or do not rely on them.
	SupportedFields = "SupportedFields"
	// NetworkPoliciesEnforced is True when the management cluster enforces NetworkPolicies. If False, tenants are not isolated:
	// the administrator has to enable enforcement (docs/isolation.md). Unknown until a control plane could be checked. Absent
	// if the operator does not run as a pod.
	NetworkPoliciesEnforced = "NetworkPoliciesEnforced"
	// EtcdBackupSucceeded is True when the last backup of etcd that has ended is stored and verified. If False, the message has
	// its failure. Absent without backups. See docs/backup.md.
	EtcdBackupSucceeded = "EtcdBackupSucceeded"
	// ServiceAccountSigningKeyRotated is True when the latest key signs all service account tokens; old keys may still be accepted. If
	// False, a rotation is in progress, and the message names what it waits for. Absent before the first rotation. See
	// docs/certificates.md.
	ServiceAccountSigningKeyRotated = "ServiceAccountSigningKeyRotated"
)

// Condition types of a HostedCluster about input of the user. While one of them is False, no changes are rolled out.
const (
	// ValidHostedClusterConfiguration is True when spec is valid. If False, change the field that the message names.
	ValidHostedClusterConfiguration = "ValidConfiguration"
	// SupportedHostedCluster is True when this installation can run the cluster. If False, the message names the installation's
	// missing flag.
	SupportedHostedCluster = "SupportedHostedCluster"
	// ValidReleaseImage is True when the release payload can be read, is supported, and is a valid upgrade from the
	// present one. If False, set another spec.release.image, or correct the pull secret.
	ValidReleaseImage = "ValidReleaseImage"
	// ValidProxyConfiguration is True when the proxy's trusted certificates can be read and have not expired. If False, correct the
	// ConfigMap in spec.configuration.proxy.trustedCA.
	ValidProxyConfiguration = "ValidProxyConfiguration"
	// PlatformCredentialsFound is True when the control plane components have their cloud credentials. If False, complete
	// spec.platform.aws.rolesRef.
	PlatformCredentialsFound = "PlatformCredentialsFound"
	// UnmanagedEtcdAvailable is True when the Secret in spec.etcd.unmanaged.tls.clientSecret has its three keys. Absent for a
	// managed etcd.
	UnmanagedEtcdAvailable = "UnmanagedEtcdAvailable"
)

// Condition types of a HostedCluster about AWS. See also AWSEndpointServiceAvailable and AWSEndpointAvailable.
const (
	// ValidOIDCConfiguration is True when the OIDC documents with which IAM verifies the cluster's tokens are
	// published and match its signing key. If False, correct the bucket or the issuer URL that the message names. If
	// serviceAccountSigningKey is set, publish the documents yourself.
	ValidOIDCConfiguration = "ValidOIDCConfiguration"
	// ValidAWSIdentityProvider is True when AWS accepts the cluster's tokens. If False, compare the IAM OIDC provider and the
	// roles' trust policies with spec.issuerURL.
	ValidAWSIdentityProvider = "ValidAWSIdentityProvider"
	// AWSRolesIsolated is True when no role of the cluster's operators accepts a token that an administrator of the hosted cluster
	// can create. If False, replace the service accounts in the roles' trust policies with the subjects in the message. The cluster
	// works in either case.
	AWSRolesIsolated = "AWSRolesIsolated"
	// ValidAWSKMSConfig is True when the KMS key for secret encryption can be used. If False, correct the ARN of the key or the
	// policy of the role in spec.secretEncryption.kms.aws. Unknown without such a key.
	ValidAWSKMSConfig = "ValidAWSKMSConfig"
	// AWSDefaultSecurityGroupCreated is True when the workers' security group exists. If False, most often the
	// control-plane-operator's role lacks a permission.
	AWSDefaultSecurityGroupCreated = "AWSDefaultSecurityGroupCreated"
	// AWSDefaultSecurityGroupDeleted is True when this group is deleted. Present only while the cluster is being deleted. The
	// message names the resource that still uses the group.
	AWSDefaultSecurityGroupDeleted = "AWSDefaultSecurityGroupDeleted"
	// EndpointAccessUpToDate is True when all nodes use the addresses of spec.platform.aws.endpointAccess, and those of an earlier
	// access mode are removed. See MachinesBehind.
	EndpointAccessUpToDate = "EndpointAccessUpToDate"
)

// Condition types about components of the control plane. They are set on the HostedControlPlane and copied to the
// HostedCluster.
const (
	// InfrastructureReady is True when the control plane's load balancers and Routes have host names. If False, the events of the
	// Service in the message contain the cloud provider's error.
	InfrastructureReady = "InfrastructureReady"
	// EtcdAvailable is True when the hosted API server reaches its etcd. If False, check the etcd pods and their volumes. Unknown
	// while the API server does not respond.
	EtcdAvailable = "EtcdAvailable"
	// KubeAPIServerAvailable is True when the hosted API server responds and is ready. The message contains the failed check.
	KubeAPIServerAvailable = "KubeAPIServerAvailable"
	// KubeAPIServerReachable is True when the hosted API server responds at its published address, through the load balancers of
	// users and nodes. If False, check the Service that the message names. Unknown if only the management cluster cannot reach the
	// load balancer. Absent if the hypershift-operator runs with --check-load-balancers=false.
	KubeAPIServerReachable = "KubeAPIServerReachable"
	// ExternalDNSReachable is True when the host names in spec.services lead to their load balancers, as the management cluster
	// sees them. Unknown without host names, if DNS does not answer, or if a private cluster's name may exist only in its VPC.
	// If False, wait for external-dns, or create the DNS records yourself.
	ExternalDNSReachable = "ExternalDNSReachable"
	// ValidHostedControlPlaneConfiguration is True when the control-plane-operator can apply the configuration. If
	// False, change the field that the message names.
	ValidHostedControlPlaneConfiguration = "ValidHostedControlPlaneConfiguration"
	// ValidReleaseInfo is True when the release payload has an image for every component. If False, set a complete release.
	ValidReleaseInfo = "ValidReleaseInfo"
	// ConfigOperatorReconciliationSucceeded is True when the control plane's objects inside the hosted cluster are up to date.
	ConfigOperatorReconciliationSucceeded = "ConfigOperatorReconciliationSucceeded"
	// DataPlaneConnectionAvailable is True when the control plane reaches the nodes. Unknown without nodes. If False,
	// check the konnectivity pods in the control plane and in the hosted cluster, and the firewall between them.
	DataPlaneConnectionAvailable = "DataPlaneConnectionAvailable"
	// KubeletServingCertificatesSigned is True when every kubelet has a serving certificate that the hosted cluster has signed, and
	// the API server verifies them. Unknown without nodes. If False, replace the nodes that the message names: until then, one node
	// could answer in place of another. Absent if the operator creates no certificates.
	KubeletServingCertificatesSigned = "KubeletServingCertificatesSigned"
	// PodNetworkInstalled is True when the release's pod network is installed, or the user has taken it over with the annotation
	// hypershift.openshift.io/pod-network. Absent for networkType Other and Calico. If False, the cluster's pods have no network
	// from Hypershift: follow the reason.
	PodNetworkInstalled = "PodNetworkInstalled"
	// AdditionalPullSecretMerged is True when nodes get the credentials for images that users of the hosted cluster have added. Absent without
	// Secret kube-system/additional-pull-secret in the hosted cluster. If False, correct that Secret.
	AdditionalPullSecretMerged = "AdditionalPullSecretMerged"
	// IngressAvailable is True when the ingress controller runs and its load balancer exists. Absent unless capabilities enables Ingress.
	// If False, applications cannot be reached by their names: follow the reason.
	IngressAvailable = "IngressAvailable"
	// ImageRegistryAvailable is True when the image registry runs. Absent unless capabilities enables ImageRegistry. If False, images in it can be
	// neither pulled nor pushed: follow the reason.
	ImageRegistryAvailable = "ImageRegistryAvailable"
	// ImageRegistryBucketAvailable is True when the bucket of the image registry exists with its settings. Absent unless capabilities enables
	// ImageRegistry, or had enabled it. If False, follow the reason.
	ImageRegistryBucketAvailable = "ImageRegistryBucketAvailable"
	// IngressRecordsAvailable is True when the names of applications lead to the load balancer of the ingress controller. Absent unless
	// capabilities enables Ingress. If False, follow the reason.
	IngressRecordsAvailable = "IngressRecordsAvailable"
	// ControlPlaneConnectionAvailable is True when nodes reach the API server: at least one kubelet reports to it. Unknown without
	// nodes. If False, check DNS and the firewall in the nodes' network, and for a private cluster AWSEndpointAvailable.
	ControlPlaneConnectionAvailable = "ControlPlaneConnectionAvailable"
	// EtcdDataEncryptionUpToDate is True when all Secrets are encrypted with the key in spec. Absent without
	// encryption. While it is False, keep both keys.
	EtcdDataEncryptionUpToDate = "EtcdDataEncryptionUpToDate"
	// AutoNodeEnabled is True when nodes are created on demand (spec.autoNode). The message names the missing image, subnet,
	// Deployment or AWS resource.
	AutoNodeEnabled = "AutoNodeEnabled"
)

package v1beta1

// Reasons of ConfigOperatorReconciliationSucceeded and CloudResourcesDestroyed.
const (
	// WaitingForKubeAPIServerReason: the hosted API server is not available. See KubeAPIServerAvailable.
	WaitingForKubeAPIServerReason = "WaitingForKubeAPIServer"
	// WaitingForKubeconfigReason: the Secret with the hosted cluster's kubeconfig does not exist or cannot be used. Delete it, and
	// it is created again. If you supply certificates, supply this Secret too.
	WaitingForKubeconfigReason = "WaitingForKubeconfig"
	// WaitingForPermissionsReason: the control plane's permissions have just been set up.
	WaitingForPermissionsReason = "WaitingForPermissions"
	// PermissionsMissingReason: the control plane cannot grant itself its permissions without the key of the authority in the
	// message. Supply the key, or create the RBAC objects.
	PermissionsMissingReason = "PermissionsMissing"
	// WaitingForEndpointReason: a required address is not known yet.
	WaitingForEndpointReason = "WaitingForEndpoint"
	// WaitingForCertificateReason: a required certificate does not exist yet.
	WaitingForCertificateReason = "WaitingForCertificate"
	// WaitingForReleaseReason: the programs on the nodes are updated to a new release after the control plane.
	WaitingForReleaseReason = "WaitingForRelease"
	// NodesBehindReason: certificate authorities are being rotated, and the nodes in the message do not trust the next ones
	// yet. If this persists, check that these machines run, or replace them. After a day the rotation continues without them.
	NodesBehindReason = "NodesBehind"
	// InvalidNetworkReason: the cluster's networks have no room for a required address. Use other networks.
	InvalidNetworkReason = "InvalidNetwork"
	// NameTakenReason: an object of the hosted cluster's users has a name that the control plane needs. Delete or
	// rename it.
	NameTakenReason = "NameTaken"
)

// Reasons of EndpointAccessUpToDate.
const (
	// MachinesBehindReason: the machines in the message do not use the new API server address yet. docs/private-cluster.md has the
	// action for each.
	MachinesBehindReason = "MachinesBehind"
	// TunnelsBehindReason: all machines use the new address, and the pods in the message, which connect nodes with the control
	// plane, are being replaced.
	TunnelsBehindReason = "TunnelsBehind"
	// RemovingFormerAccessReason: no machine uses the former API server address, and it is being removed.
	RemovingFormerAccessReason = "RemovingFormerAccess"
)

// Reasons of PodNetworkInstalled.
const (
	// NoPodNetworkInReleaseReason: the release has no pod network image. An earlier release's pod network is neither updated nor
	// removed. Use a release with the image flannel, or install a network plugin and set the annotation
	// hypershift.openshift.io/pod-network to Unmanaged.
	NoPodNetworkInReleaseReason = "NoPodNetworkInRelease"
	// OtherPodNetworkReason: nodes have another pod network, which would change the same settings. To keep it, set the
	// annotation hypershift.openshift.io/pod-network to Unmanaged.
	OtherPodNetworkReason = "OtherPodNetwork"
	// PodNetworkUnmanagedReason: the annotation hypershift.openshift.io/pod-network leaves the pod network to the user.
	PodNetworkUnmanagedReason = "PodNetworkUnmanaged"
)

// Reasons of IngressAvailable.
const (
	// NoIngressInReleaseReason: the release has no image of an ingress controller. Use a release with the image traefik, or remove Ingress
	// from capabilities.
	NoIngressInReleaseReason = "NoIngressInRelease"
	// IngressNotRunningReason: no pod of the ingress controller is ready. If this persists, see the pods of Deployment traefik in
	// kube-system of the hosted cluster.
	IngressNotRunningReason = "IngressNotRunning"
	// WaitingForLoadBalancerReason: the cloud controller manager has not created the load balancer yet. If this persists, see the events of
	// Service traefik in kube-system of the hosted cluster.
	WaitingForLoadBalancerReason = "WaitingForLoadBalancer"
)

// Reasons of AdditionalPullSecretMerged.
const (
	// InvalidPullSecretReason: the Secret does not have the format of a pull secret. Correct it as the message says.
	InvalidPullSecretReason = "InvalidPullSecret"
)

// Reasons of ImageRegistryAvailable.
const (
	// NoImageRegistryInReleaseReason: the release has no image of a registry. Use a release with the image image-registry, or remove
	// ImageRegistry from capabilities.
	NoImageRegistryInReleaseReason = "NoImageRegistryInRelease"
	// ImageRegistryNotRunningReason: no pod of the image registry is ready. If this persists, see the pods of Deployment image-registry in
	// kube-system of the hosted cluster.
	ImageRegistryNotRunningReason = "ImageRegistryNotRunning"
	// WaitingForBucketReason: the bucket is not ready yet. Condition ImageRegistryBucketAvailable has the cause.
	WaitingForBucketReason = "WaitingForBucket"
)

// Reasons of ImageRegistryBucketAvailable.
const (
	// NoImageRegistryRoleReason: the cluster has no role for the bucket. Set platform.aws.rolesRef.imageRegistryARN.
	NoImageRegistryRoleReason = "NoImageRegistryRole"
	// BucketClaimedReason: a bucket with the name exists and belongs to another account, or lacks the tags of this cluster. Delete it, or
	// remove ImageRegistry from capabilities.
	BucketClaimedReason = "BucketClaimed"
	// BucketKeptReason: the capability was removed. The bucket keeps the images until the cluster is deleted.
	BucketKeptReason = "BucketKept"
)

// Reasons of IngressRecordsAvailable.
const (
	// NoIngressDomainReason: the cluster has no domain for its applications. Set dns.baseDomain, or configuration.ingress.domain.
	NoIngressDomainReason = "NoIngressDomain"
	// NoIngressZoneReason: the cluster has no hosted zone for the records, or no role to write them with. Set the field in the message, or
	// dnsManagementPolicy Unmanaged and write the record in the message.
	NoIngressZoneReason = "NoIngressZone"
	// IngressRecordsUnmanagedReason: the user writes the records, or the ingress controller has no load balancer.
	IngressRecordsUnmanagedReason = "IngressRecordsUnmanaged"
	// IngressZoneMissingReason: a hosted zone in dns does not exist in the account of the role.
	IngressZoneMissingReason = "IngressZoneMissing"
)

// Reasons of KubeletServingCertificatesSigned.
const (
	// NodesSelfSignedReason: the nodes in the message use self-signed serving certificates. A new machine has its certificate
	// within minutes. Replace machines that are older.
	NodesSelfSignedReason = "NodesSelfSigned"
)

// Reasons of DataPlaneConnectionAvailable and ControlPlaneConnectionAvailable.
const (
	// NoNodesReason: the cluster has no nodes to check.
	NoNodesReason = "NoNodes"
	// NoTunnelsReason: no node has a tunnel to the control plane yet. If this persists, check the pods
	// konnectivity-agent in kube-system of the hosted cluster.
	NoTunnelsReason = "NoTunnels"
	// NodesUnreachableReason: the API server got no response from a kubelet. Check the konnectivity pods on both sides, and the
	// firewall between them.
	NodesUnreachableReason = "NodesUnreachable"
	// NodesSilentReason: no kubelet has reported to the API server for some time. Check that machines run, and DNS and the firewall
	// between them and the API server.
	NodesSilentReason = "NodesSilent"
)

package v1beta1

// HostedClusterDeletedAnnotation says, if "true" on a HostedControlPlane, that its HostedCluster is being deleted and that its
// nodes are gone: what the hosted cluster made in the cloud is removed now, if CleanupCloudResourcesAnnotation asks for that,
// and nothing new may be made. The HostedControlPlane itself is deleted later, when the hosted API server is not needed any more.
const HostedClusterDeletedAnnotation = "hypershift.openshift.io/hosted-cluster-deleted"

// Reasons of ConfigOperatorReconciliationSucceeded and CloudResourcesDestroyed.
const (
	// WaitingForKubeAPIServerReason: nothing can be set up while the hosted API server does not serve. KubeAPIServerAvailable
	// says why.
	WaitingForKubeAPIServerReason = "WaitingForKubeAPIServer"
	// WaitingForKubeconfigReason: the Secret by which the control plane enters the hosted cluster is not there, or cannot be
	// used; the message names it. Delete it, it is made again; if certificates are brought, bring it.
	WaitingForKubeconfigReason = "WaitingForKubeconfig"
	// WaitingForPermissionsReason: the permissions of the control plane inside the hosted cluster have just been set up. Nothing
	// to do.
	WaitingForPermissionsReason = "WaitingForPermissions"
	// PermissionsMissingReason: the control plane may not do its work inside the hosted cluster and cannot give itself the
	// permission, because it does not have the key of the authority that the message names. Bring the key, or the permissions.
	PermissionsMissingReason = "PermissionsMissing"
	// WaitingForEndpointReason: an address that goes into the hosted cluster is not known yet; the message says which.
	WaitingForEndpointReason = "WaitingForEndpoint"
	// WaitingForCertificateReason: a certificate that goes into the hosted cluster is not there yet; the message names it.
	WaitingForCertificateReason = "WaitingForCertificate"
	// WaitingForReleaseReason: what runs on the nodes follows the control plane to a new release when that has arrived
	// there. Nothing to do.
	WaitingForReleaseReason = "WaitingForRelease"
	// NodesBehindReason: certificate authorities are being replaced, and the nodes that the message names do not believe the next
	// ones yet. Nothing to do for some minutes; then see whether these machines are alive, and replace those that were made before
	// nodes followed. After a day they are left behind.
	NodesBehindReason = "NodesBehind"
	// InvalidNetworkReason: the networks of the cluster leave no room for an address that it needs; the message says which.
	InvalidNetworkReason = "InvalidNetwork"
	// NameTakenReason: something of the hosted cluster's users has a name that the control plane needs. Delete or rename it.
	NameTakenReason = "NameTaken"
)

// Reasons of KubeletServingCertificatesSigned.
const (
	// NodesSelfSignedReason: the nodes that the message names serve with certificates that nobody has signed. Those whose machines
	// were made before Hypershift requested such certificates have to be replaced; a new one has its certificate within minutes.
	NodesSelfSignedReason = "NodesSelfSigned"
)

// Reasons of DataPlaneConnectionAvailable.
const (
	// NoNodesReason: the cluster has no nodes that could be reached. Nothing to do unless it should have some.
	NoNodesReason = "NoNodes"
	// NoTunnelsReason: no node has a tunnel to the control plane yet. Look at the pods konnectivity-agent in kube-system of the
	// hosted cluster if it stays.
	NoTunnelsReason = "NoTunnels"
	// NodesUnreachableReason: the API server got no answer from a kubelet; the message holds what it said. Look at the
	// konnectivity pods on both sides, and at the firewall between them.
	NodesUnreachableReason = "NodesUnreachable"
)

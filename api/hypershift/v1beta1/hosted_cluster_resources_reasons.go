package v1beta1

// Reasons of ConfigOperatorReconciliationSucceeded and CloudResourcesDestroyed.
const (
	// WaitingForKubeAPIServerReason: the hosted API server is not available, so nothing can be set up in the hosted
	// cluster. See KubeAPIServerAvailable.
	WaitingForKubeAPIServerReason = "WaitingForKubeAPIServer"
	// WaitingForKubeconfigReason: the Secret with the kubeconfig for the hosted cluster does not exist or cannot be
	// used. The message names it. Delete it, and it is created again. If you supply certificates, supply this Secret
	// too.
	WaitingForKubeconfigReason = "WaitingForKubeconfig"
	// WaitingForPermissionsReason: the permissions of the control plane inside the hosted cluster have just been set
	// up. No action is needed.
	WaitingForPermissionsReason = "WaitingForPermissions"
	// PermissionsMissingReason: the control plane lacks permissions inside the hosted cluster and cannot grant them
	// to itself, because it does not have the key of the authority in the message. Supply the key, or create the RBAC
	// objects.
	PermissionsMissingReason = "PermissionsMissing"
	// WaitingForEndpointReason: an address that the hosted cluster needs is not known yet. The message names it. No
	// action is needed.
	WaitingForEndpointReason = "WaitingForEndpoint"
	// WaitingForCertificateReason: a certificate that the hosted cluster needs does not exist yet. The message names
	// it. No action is needed.
	WaitingForCertificateReason = "WaitingForCertificate"
	// WaitingForReleaseReason: the programs on the nodes are updated to a new release after the control plane. No
	// action is needed.
	WaitingForReleaseReason = "WaitingForRelease"
	// NodesBehindReason: certificate authorities are being rotated, and the nodes in the message do not trust the
	// next ones yet. No action is needed for some minutes. If this persists, check that these machines run, and
	// replace those that were created before nodes updated their authorities. After a day the rotation continues
	// without them.
	NodesBehindReason = "NodesBehind"
	// InvalidNetworkReason: the networks of the cluster have no room for an address that it needs. The message names
	// it. Use other networks.
	InvalidNetworkReason = "InvalidNetwork"
	// NameTakenReason: an object of the hosted cluster's users has a name that the control plane needs. Delete or
	// rename it.
	NameTakenReason = "NameTaken"
)

// Reasons of EndpointAccessUpToDate.
const (
	// MachinesBehindReason: endpointAccess has changed, and the machines in the message do not use the new address of
	// the API server yet. A running machine follows within some minutes. Start a machine that is off, or delete it.
	// Delete machines that were started before machines reported their address. If running machines do not follow,
	// check AWSEndpointAvailable and, for a public address, the way of the machines to the internet.
	MachinesBehindReason = "MachinesBehind"
	// TunnelsBehindReason: all machines use the new address, and the pods in the message are being replaced, which
	// connect the nodes with the control plane. If this persists, check these pods.
	TunnelsBehindReason = "TunnelsBehind"
	// RemovingFormerAccessReason: no machine uses the former address of the API server, and it is being removed. No
	// action is needed.
	RemovingFormerAccessReason = "RemovingFormerAccess"
)

// Reasons of PodNetworkInstalled.
const (
	// NoPodNetworkInReleaseReason: the release has no image of a pod network. Nothing is installed, and one that an
	// earlier release has installed is neither updated nor removed. Use a release with the image flannel, or install a
	// network plugin and set the annotation hypershift.openshift.io/pod-network to Unmanaged.
	NoPodNetworkInReleaseReason = "NoPodNetworkInRelease"
	// OtherPodNetworkReason: nodes are ready without the pod network of the release, so they have another one. The one
	// of the release is not installed, because both would change the same settings of nodes. Set the annotation
	// hypershift.openshift.io/pod-network to Unmanaged to keep the other one.
	OtherPodNetworkReason = "OtherPodNetwork"
	// PodNetworkUnmanagedReason: the annotation hypershift.openshift.io/pod-network leaves the pod network to the
	// user. No action is needed.
	PodNetworkUnmanagedReason = "PodNetworkUnmanaged"
)

// Reasons of KubeletServingCertificatesSigned.
const (
	// NodesSelfSignedReason: the nodes in the message use self-signed serving certificates. Replace machines that
	// were created before Hypershift requested serving certificates. A new machine has its certificate within
	// minutes.
	NodesSelfSignedReason = "NodesSelfSigned"
)

// Reasons of DataPlaneConnectionAvailable and ControlPlaneConnectionAvailable.
const (
	// NoNodesReason: the cluster has no nodes to check. No action is needed unless it should have nodes.
	NoNodesReason = "NoNodes"
	// NoTunnelsReason: no node has a tunnel to the control plane yet. If this persists, check the pods
	// konnectivity-agent in kube-system of the hosted cluster.
	NoTunnelsReason = "NoTunnels"
	// NodesUnreachableReason: the API server got no response from a kubelet. The message contains the error. Check
	// the konnectivity pods in the control plane and in the hosted cluster, and the firewall between them.
	NodesUnreachableReason = "NodesUnreachable"
	// NodesSilentReason: no kubelet has reported to the API server for some time. Check that machines run, and DNS and
	// the firewall between them and the address of the API server.
	NodesSilentReason = "NodesSilent"
)

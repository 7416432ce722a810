package names

// The components of a control plane. They are also the names of their images in a release payload. KubeAPIServer is above,
// because its Service shares the name.
const (
	Etcd                   = "etcd"
	KubeControllerManager  = "kube-controller-manager"
	KubeScheduler          = "kube-scheduler"
	CloudControllerManager = "aws-cloud-controller-manager"
	// PodIdentityWebhook is also the name of its Service, as which the hosted API server reaches it.
	PodIdentityWebhook = "pod-identity-webhook"
	Karpenter          = "karpenter"
)

// EBSCSIController is the component with the controller of the EBS CSI driver. The others are the images of the driver and of its
// sidecars that a package names.
const (
	EBSCSIController      = "aws-ebs-csi-driver-controller"
	EBSCSIDriverImage     = "aws-ebs-csi-driver"
	CSINodeRegistrarImage = "csi-node-driver-registrar"
	CSILivenessProbeImage = "csi-livenessprobe"
	CSISnapshotterImage   = "csi-external-snapshotter"
)

// MetricsServer is the component, its image and its Service in the hosted cluster.
const MetricsServer = "metrics-server"

// ImageRegistry is the component, its image and its Service in the hosted cluster.
const ImageRegistry = "image-registry"

// ImageRegistryHost is the host in the names of images of that registry.
const ImageRegistryHost = ImageRegistry + ".kube-system.svc"

// Traefik is the ingress controller, its image and its Service in the hosted cluster.
const Traefik = "traefik"

// Images of a release payload that no component is named after.
const (
	KonnectivityServerImage = "konnectivity-server"
	KonnectivityAgentImage  = "konnectivity-agent"
	HAProxyImage            = "haproxy"
	PauseImage              = "pause"
	// NodePrograms is the image with the kubelet, the container runtime and the network plugins for nodes.
	NodePrograms = "node-programs"
)

// RequiredImages are the images that every release must have. Without the tunnel server, kube-apiserver would connect to
// nodes, pods and Services of the hosted cluster directly, from the management network, at any address that a user of the
// hosted cluster writes into a Node.
var RequiredImages = []string{Etcd, KonnectivityServerImage, KubeAPIServer, KubeControllerManager, KubeScheduler}

// ManagementAccessLabel is on pods that may connect to the API server of the management cluster. A NetworkPolicy of the
// namespace denies it to others.
const ManagementAccessLabel = "hypershift.openshift.io/need-management-kas-access"

package names

// The components of a control plane. They are also the names of their images in a release payload. KubeAPIServer is above,
// because its Service has the same name.
const (
	Etcd                   = "etcd"
	KubeControllerManager  = "kube-controller-manager"
	KubeScheduler          = "kube-scheduler"
	CloudControllerManager = "aws-cloud-controller-manager"
)

// Images of a release payload that no component is named after.
const (
	KonnectivityServerImage = "konnectivity-server"
	KonnectivityAgentImage  = "konnectivity-agent"
	HAProxyImage            = "haproxy"
)

// RequiredImages are the images that every release must have. Without the tunnel server, kube-apiserver would connect to
// nodes, pods and Services of the hosted cluster directly, from the management network, at any address that a user of the
// hosted cluster writes into a Node.
var RequiredImages = []string{Etcd, KonnectivityServerImage, KubeAPIServer, KubeControllerManager, KubeScheduler}

// ManagementAccessLabel is on pods that may connect to the API server of the management cluster. A NetworkPolicy of the
// namespace denies it to others.
const ManagementAccessLabel = "hypershift.openshift.io/need-management-kas-access"

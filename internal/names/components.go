package names

// The components of a control plane, which are also the names of their images
// in a release payload. KubeAPIServer is above: its Service has the same name.
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

// RequiredImages are those that every release must have. Without the tunnel server, kube-apiserver would dial nodes, pods and Services
// of the hosted cluster itself: whatever address their users write into a Node, from the management network.
var RequiredImages = []string{Etcd, KonnectivityServerImage, KubeAPIServer, KubeControllerManager, KubeScheduler}

// ManagementAccessLabel is on pods that may talk to the API server of the
// management cluster: a NetworkPolicy of the namespace lets no others.
const ManagementAccessLabel = "hypershift.openshift.io/need-management-kas-access"

package v1beta1

// Finalizers.
const (
	// HostedClusterFinalizer keeps a HostedCluster until all its resources are deleted. NodePools and
	// HostedControlPlanes use the same name.
	HostedClusterFinalizer = "hypershift.openshift.io/finalizer"
	// HypershiftOperatorFinalizer keeps an AWSEndpointService until its VPC endpoint service is deleted.
	HypershiftOperatorFinalizer = "hypershift.openshift.io/hypershift-operator-finalizer"
	// ControlPlaneOperatorFinalizer keeps an AWSEndpointService until its VPC endpoint, security group and DNS
	// records are deleted, and a HostedControlPlane until the security group of its workers is deleted.
	ControlPlaneOperatorFinalizer = "hypershift.openshift.io/control-plane-operator-finalizer"
	// ImageRegistryFinalizer keeps a HostedControlPlane until the bucket of the image registry is deleted.
	ImageRegistryFinalizer = "hypershift.openshift.io/image-registry"
	// IngressRecordsFinalizer keeps a HostedControlPlane until the DNS records of the applications are deleted.
	IngressRecordsFinalizer = "hypershift.openshift.io/ingress-records"
	// ControlPlaneComponentsFinalizer keeps a HostedControlPlane until its last pod is deleted.
	ControlPlaneComponentsFinalizer = "hypershift.openshift.io/components-finalizer"
)

// Labels.
const (
	// SharedRouterTargetLabel marks the Services of a control plane to which the shared router can lead.
	SharedRouterTargetLabel = "hypershift.openshift.io/shared-router-target"
	// ControlPlaneNamespaceLabel marks the namespaces of control planes.
	ControlPlaneNamespaceLabel = "hypershift.openshift.io/hosted-control-plane"
	// InfraIDLabel is the infraID of the cluster that an object belongs to.
	InfraIDLabel = "hypershift.openshift.io/infra-id"
	// HostedClusterUIDLabel is the UID of the HostedCluster of a control plane's namespace. A name alone can be used
	// again by another HostedCluster.
	HostedClusterUIDLabel = "hypershift.openshift.io/hosted-cluster-uid"
	// HCPRouteLabel marks the Routes that the control plane's own router serves.
	HCPRouteLabel = "hypershift.openshift.io/hosted-control-plane"
	// InternalRouteLabel marks the Routes that only the cluster's own workers reach.
	InternalRouteLabel = "hypershift.openshift.io/internal-route"
	// RouteVisibilityLabel is "private" on a Route with a name that must not be in public DNS.
	RouteVisibilityLabel = "hypershift.openshift.io/route-visibility"
)

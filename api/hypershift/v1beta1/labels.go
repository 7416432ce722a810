package v1beta1

// Finalizers.
const (
	// HostedClusterFinalizer keeps a HostedCluster until everything that was
	// made for it is gone. NodePools and HostedControlPlanes use the same name.
	HostedClusterFinalizer = "hypershift.openshift.io/finalizer"
	// HypershiftOperatorFinalizer keeps an AWSEndpointService until its VPC
	// endpoint service is gone.
	HypershiftOperatorFinalizer = "hypershift.openshift.io/hypershift-operator-finalizer"
	// ControlPlaneOperatorFinalizer keeps an AWSEndpointService until its VPC
	// endpoint, security group and records are gone, and a HostedControlPlane
	// until the security group of its workers is.
	ControlPlaneOperatorFinalizer = "hypershift.openshift.io/control-plane-operator-finalizer"
	// ControlPlaneComponentsFinalizer keeps a HostedControlPlane until its last
	// pod is gone.
	ControlPlaneComponentsFinalizer = "hypershift.openshift.io/components-finalizer"
)

// Labels and annotations.
const (
	// HostedClusterAnnotation is on every object that was made for a
	// HostedCluster in another namespace; its value is "<namespace>/<name>".
	HostedClusterAnnotation = "hypershift.openshift.io/cluster"

	// CopiedFromAnnotation is on a copy of a user's Secret or ConfigMap; its
	// value is the name of that object.
	CopiedFromAnnotation = "hypershift.openshift.io/copied-from"
	// ControlPlaneNamespaceLabel marks the namespaces of control planes.
	ControlPlaneNamespaceLabel = "hypershift.openshift.io/hosted-control-plane"
	// InfraIDLabel carries the infraID of the cluster an object belongs to.
	InfraIDLabel = "hypershift.openshift.io/infra-id"
	// HostedClusterUIDLabel is on a control plane namespace and names the
	// HostedCluster that it was made for by UID: a name alone can be taken twice.
	HostedClusterUIDLabel = "hypershift.openshift.io/hosted-cluster-uid"
	// HCPRouteLabel marks the Routes that the control plane's own router serves.
	HCPRouteLabel = "hypershift.openshift.io/hosted-control-plane"
	// InternalRouteLabel marks the Routes that only the cluster's own workers reach.
	InternalRouteLabel = "hypershift.openshift.io/internal-route"
	// RouteVisibilityLabel is "private" on a Route whose name public DNS must not carry.
	RouteVisibilityLabel = "hypershift.openshift.io/route-visibility"
	// ControlPlaneOperatorImageAnnotation, on a HostedCluster, replaces the
	// image of its control-plane-operator, if the hypershift-operator was started
	// with --allow-control-plane-operator-image-override.
	ControlPlaneOperatorImageAnnotation = "hypershift.openshift.io/control-plane-operator-image"
	// DestroyGracePeriodAnnotation, on a HostedCluster, is a Go duration to
	// stay deleted-but-present for, so that others can read the end state.
	DestroyGracePeriodAnnotation = "hypershift.openshift.io/destroy-grace-period"
	// GiveUpAfterAnnotation, on a HostedCluster, is a Go duration: how long its
	// deletion waits for what is needed to delete the rest, such as a role that
	// AWS no longer lets us assume, before it leaves and names it. Default 10m.
	GiveUpAfterAnnotation = "hypershift.openshift.io/give-up-after"
	// TargetNodeLabelsAnnotation, on a HostedCluster, restricts the targets of
	// its load balancers to nodes with these labels.
	TargetNodeLabelsAnnotation = "hypershift.openshift.io/aws-load-balancer-target-node-labels"
	// PublishedNamesAnnotation, on the namespace of a control plane, lists the host
	// names that its objects may publish, separated by commas. One that begins
	// with a dot stands for all names below it.
	PublishedNamesAnnotation = "hypershift.openshift.io/published-names"
	// ExternalDNSHostnameAnnotation, on a Service, is the public name that
	// external-dns registers for it.
	ExternalDNSHostnameAnnotation = "external-dns.alpha.kubernetes.io/hostname"
)

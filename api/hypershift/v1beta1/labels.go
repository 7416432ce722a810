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
	// ControlPlaneComponentsFinalizer keeps a HostedControlPlane until its last pod is deleted.
	ControlPlaneComponentsFinalizer = "hypershift.openshift.io/components-finalizer"
)

// Labels and annotations.
const (
	// HostedClusterAnnotation is on every object that was created for a HostedCluster in another namespace. Its value
	// is "<namespace>/<name>".
	HostedClusterAnnotation = "hypershift.openshift.io/cluster"

	// CopiedFromAnnotation is on a copy of a user's Secret or ConfigMap. Its value is the name of the original.
	CopiedFromAnnotation = "hypershift.openshift.io/copied-from"
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
	// ControlPlaneOperatorImageAnnotation, on a HostedCluster, replaces the image of its control-plane-operator. It
	// requires --allow-control-plane-operator-image-override of the hypershift-operator.
	ControlPlaneOperatorImageAnnotation = "hypershift.openshift.io/control-plane-operator-image"
	// DestroyGracePeriodAnnotation, on a HostedCluster, is a Go duration. The object stays for this time after
	// everything is deleted, so that others can read its final state.
	DestroyGracePeriodAnnotation = "hypershift.openshift.io/destroy-grace-period"
	// GiveUpAfterAnnotation, on a HostedCluster, is a Go duration. The deletion waits for this time for what it needs
	// to delete the remaining resources, such as a role that the operator can no longer assume. It then leaves these
	// resources and lists them. Default 10m.
	GiveUpAfterAnnotation = "hypershift.openshift.io/give-up-after"
	// TargetNodeLabelsAnnotation, on a HostedCluster, restricts the targets of
	// its load balancers to nodes with these labels.
	TargetNodeLabelsAnnotation = "hypershift.openshift.io/aws-load-balancer-target-node-labels"
	// LoadBalancerSubnetsAnnotation, on a HostedCluster, lists the subnets of its load balancers in the management account,
	// by id or name, separated by commas. They must be public if it has a public load balancer. Default: the subnets that
	// the load balancer controller finds by their tags.
	LoadBalancerSubnetsAnnotation = "hypershift.openshift.io/aws-load-balancer-subnets"
	// PublishedNamesAnnotation, on the namespace of a control plane, lists the host names that its objects may
	// publish, separated by commas. A name that starts with a dot permits all names below it.
	PublishedNamesAnnotation = "hypershift.openshift.io/published-names"
	// ExternalDNSHostnameAnnotation, on a Service, is the public name that
	// external-dns registers for it. external-dns reads it before version 0.22.
	ExternalDNSHostnameAnnotation = "external-dns.alpha.kubernetes.io/hostname"
	// CurrentExternalDNSHostnameAnnotation is the same for external-dns 0.22 and later.
	CurrentExternalDNSHostnameAnnotation = "external-dns.kubernetes.io/hostname"
)

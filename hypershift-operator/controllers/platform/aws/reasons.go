package aws

// Reasons of AWSEndpointServiceAvailable, beside those of package awsx for
// errors of AWS.
const (
	// LoadBalancerNotFoundReason: the load balancer that the object names is not
	// in the account and region of this operator. A new one appears by itself;
	// otherwise look at the Service it belongs to, and at the cloud provider.
	LoadBalancerNotFoundReason = "LoadBalancerNotFound"
	// LoadBalancerNotActiveReason: the load balancer is there and does not serve
	// yet. Nothing needs to be done for some minutes.
	LoadBalancerNotActiveReason = "LoadBalancerNotActive"
	// LoadBalancerUnusableReason: PrivateLink needs a network load balancer.
	LoadBalancerUnusableReason = "LoadBalancerUnusable"
	// LoadBalancerTakenReason: an older object names the same load balancer.
	LoadBalancerTakenReason = "LoadBalancerTaken"
	// EndpointServicePendingReason: AWS is making the endpoint service.
	EndpointServicePendingReason = "EndpointServicePending"
	// EndpointServiceFailedReason: AWS gave up on the endpoint service.
	EndpointServiceFailedReason = "EndpointServiceFailed"
	// WaitingForHostedClusterReason: no control plane, or no HostedCluster, was
	// found for the namespace of the object.
	WaitingForHostedClusterReason = "WaitingForHostedCluster"
	// AmbiguousOwnerReason: the namespace has several HostedControlPlanes.
	AmbiguousOwnerReason = "AmbiguousOwner"
	// UnreadableReason: the object has a value that its type cannot hold.
	UnreadableReason = "Unreadable"
	// DeletingReason: the object is being deleted; the message says what for.
	DeletingReason = "Deleting"
)

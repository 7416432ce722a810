package v1beta1

// Reasons of AWSEndpointServiceAvailable, beside the kinds of errors that AWS
// gives.
const (
	// LoadBalancerNotFound: the load balancer that the object names is not
	// in the account and region of this operator. A new one appears by itself;
	// otherwise look at the Service it belongs to, and at the cloud provider.
	LoadBalancerNotFound = "LoadBalancerNotFound"
	// LoadBalancerNotActive: the load balancer is there and does not serve
	// yet. Nothing needs to be done for some minutes.
	LoadBalancerNotActive = "LoadBalancerNotActive"
	// LoadBalancerUnusable: PrivateLink needs a network load balancer.
	LoadBalancerUnusable = "LoadBalancerUnusable"
	// LoadBalancerTaken: an older object names the same load balancer.
	LoadBalancerTaken = "LoadBalancerTaken"
	// EndpointServicePending: AWS is making the endpoint service.
	EndpointServicePending = "EndpointServicePending"
	// EndpointServiceFailed: AWS gave up on the endpoint service.
	EndpointServiceFailed = "EndpointServiceFailed"
	// WaitingForHostedCluster: no control plane, or no HostedCluster, was
	// found for the namespace of the object.
	WaitingForHostedCluster = "WaitingForHostedCluster"
	// AmbiguousOwner: the namespace has several HostedControlPlanes.
	AmbiguousOwner = "AmbiguousOwner"
	// Unreadable: the object has a value that its type cannot hold.
	Unreadable = "Unreadable"
	// Deleting: the object is being deleted; the message says what for.
	Deleting = "Deleting"
)

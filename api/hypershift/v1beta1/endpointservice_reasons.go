package v1beta1

// Reasons of AWSEndpointServiceAvailable, beside the kinds of errors that AWS
// gives.
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
	// LoadBalancerForeignReason: the load balancer that the object names is not,
	// or not yet, the one of the Service that has the name of the object. The
	// cloud provider writes it into the status of that Service; no other load
	// balancer may be offered.
	LoadBalancerForeignReason = "LoadBalancerForeign"
	// EndpointServicesElsewhereReason: the cluster's endpoint services are in
	// another account or region of AWS than the one in which the
	// hypershift-operator works now. Give it back its region and credentials.
	EndpointServicesElsewhereReason = "EndpointServicesElsewhere"
	// EndpointServicePendingReason: AWS is making the endpoint service.
	EndpointServicePendingReason = "EndpointServicePending"
	// EndpointServiceFailedReason: AWS gave up on the endpoint service.
	EndpointServiceFailedReason = "EndpointServiceFailed"
	// WaitingForHostedClusterReason: no control plane, or no HostedCluster, was
	// found for the namespace of the object.
	WaitingForHostedClusterReason = "WaitingForHostedCluster"
	// AmbiguousOwnerReason: the namespace has several HostedControlPlanes.
	AmbiguousOwnerReason = "AmbiguousOwner"
)

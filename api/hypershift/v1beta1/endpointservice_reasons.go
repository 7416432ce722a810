package v1beta1

// Reasons of AWSEndpointServiceAvailable, in addition to those for errors of AWS.
const (
	// LoadBalancerNotFoundReason: the load balancer does not exist in the operator's account and region. A new one is found as soon
	// as it exists. If this persists, check its Service and the cloud provider.
	LoadBalancerNotFoundReason = "LoadBalancerNotFound"
	// LoadBalancerNotActiveReason: the load balancer is not active yet, for some minutes.
	LoadBalancerNotActiveReason = "LoadBalancerNotActive"
	// LoadBalancerUnusableReason: the load balancer is not a network load balancer, which PrivateLink requires.
	// Change the Service.
	LoadBalancerUnusableReason = "LoadBalancerUnusable"
	// LoadBalancerForeignReason: the load balancer is not, or not yet, the one in the status of the Service with the same name,
	// which the cloud provider writes. No other load balancer may be offered.
	LoadBalancerForeignReason = "LoadBalancerForeign"
	// EndpointServicesElsewhereReason: the cluster's endpoint services are in another AWS account or region than the
	// hypershift-operator uses now. Restore its region and credentials.
	EndpointServicesElsewhereReason = "EndpointServicesElsewhere"
	// EndpointServicePendingReason: AWS is creating the endpoint service.
	EndpointServicePendingReason = "EndpointServicePending"
	// EndpointServiceFailedReason: AWS could not create the endpoint service.
	EndpointServiceFailedReason = "EndpointServiceFailed"
	// WaitingForHostedClusterReason: no control plane, or no HostedCluster, was found for the namespace yet, or no longer.
	WaitingForHostedClusterReason = "WaitingForHostedCluster"
	// AmbiguousOwnerReason: the namespace has several HostedControlPlanes. Delete all but one.
	AmbiguousOwnerReason = "AmbiguousOwner"
)

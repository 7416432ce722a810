package v1beta1

// Reasons of AWSEndpointServiceAvailable, in addition to those for errors of AWS.
const (
	// LoadBalancerNotFoundReason: the load balancer does not exist in the operator's account and region. If this persists,
	// check its Service and the cloud provider.
	LoadBalancerNotFoundReason = "LoadBalancerNotFound"
	// LoadBalancerNotActiveReason: the load balancer is not active yet, for some minutes.
	LoadBalancerNotActiveReason = "LoadBalancerNotActive"
	// LoadBalancerUnusableReason: the load balancer is not a network load balancer, which PrivateLink requires.
	// Change the Service.
	LoadBalancerUnusableReason = "LoadBalancerUnusable"
	// LoadBalancerForeignReason: the status of the Service with the same name does not contain the load balancer, or not yet.
	// No other load balancer may be offered.
	LoadBalancerForeignReason = "LoadBalancerForeign"
	// EndpointServicesElsewhereReason: the cluster's endpoint services are in another AWS account or region than the
	// hypershift-operator uses now. Restore its region and credentials.
	EndpointServicesElsewhereReason = "EndpointServicesElsewhere"
	// EndpointServicePendingReason: AWS is creating the endpoint service.
	EndpointServicePendingReason = "EndpointServicePending"
	// EndpointServiceFailedReason: AWS could not create the endpoint service.
	EndpointServiceFailedReason = "EndpointServiceFailed"
	// WaitingForHostedClusterReason: the namespace has no control plane or HostedCluster yet, or no longer.
	WaitingForHostedClusterReason = "WaitingForHostedCluster"
	// AmbiguousOwnerReason: the namespace has several HostedControlPlanes. Delete all but one.
	AmbiguousOwnerReason = "AmbiguousOwner"
)

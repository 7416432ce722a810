package v1beta1

// Reasons of AWSEndpointServiceAvailable, in addition to those for errors of AWS.
const (
	// LoadBalancerNotFoundReason: the load balancer of the object does not exist in the account and region of this
	// operator. A new load balancer is found as soon as it exists. If this persists, check its Service and the cloud
	// provider.
	LoadBalancerNotFoundReason = "LoadBalancerNotFound"
	// LoadBalancerNotActiveReason: the load balancer exists but is not active yet. No action is needed for some
	// minutes.
	LoadBalancerNotActiveReason = "LoadBalancerNotActive"
	// LoadBalancerUnusableReason: the load balancer is not a network load balancer, which PrivateLink requires.
	// Change the Service.
	LoadBalancerUnusableReason = "LoadBalancerUnusable"
	// LoadBalancerForeignReason: the load balancer of the object is not, or not yet, the one in the status of the
	// Service with the same name. The cloud provider writes this status. No other load balancer may be offered.
	LoadBalancerForeignReason = "LoadBalancerForeign"
	// EndpointServicesElsewhereReason: the cluster's endpoint services are in another AWS account or region than the
	// one that the hypershift-operator uses now. Restore its region and credentials.
	EndpointServicesElsewhereReason = "EndpointServicesElsewhere"
	// EndpointServicePendingReason: AWS is creating the endpoint service. No action is needed.
	EndpointServicePendingReason = "EndpointServicePending"
	// EndpointServiceFailedReason: AWS could not create the endpoint service. The message contains the reason.
	EndpointServiceFailedReason = "EndpointServiceFailed"
	// WaitingForHostedClusterReason: no control plane, or no HostedCluster, was found for the namespace of the
	// object. No action is needed while the cluster is being created or deleted.
	WaitingForHostedClusterReason = "WaitingForHostedCluster"
	// AmbiguousOwnerReason: the namespace has several HostedControlPlanes. Delete all but one.
	AmbiguousOwnerReason = "AmbiguousOwner"
)

package v1beta1

// Reasons of AWSEndpointAvailable, beside the kinds of errors that AWS gives.
const (
	// WaitingForControlPlaneReason: there is no HostedControlPlane in the namespace.
	// Nothing to do while the cluster is being made or deleted.
	WaitingForControlPlaneReason = "WaitingForControlPlane"
	// WaitingForSigningKeyReason: the Secret with the cluster's signing key, by which
	// AWS knows us, is not there yet. Nothing to do.
	WaitingForSigningKeyReason = "WaitingForSigningKey"
	// WaitingForEndpointServiceReason: the service in the management account is not
	// there yet. AWSEndpointServiceAvailable says why.
	WaitingForEndpointServiceReason = "WaitingForEndpointService"
	// WaitingForSubnetsReason: no NodePool has named a subnet yet. Make a NodePool.
	WaitingForSubnetsReason = "WaitingForSubnets"
	// InvalidPlatformReason: the HostedCluster lacks something that an endpoint
	// needs, or has it in a form that cannot be used. The message names it.
	InvalidPlatformReason = "InvalidPlatform"
	// SubnetsUnusableReason: subnets of NodePools do not exist, are in another VPC, or
	// are in zones that the service does not serve. The message names them.
	SubnetsUnusableReason = "SubnetsUnusable"
	// ZonesNotServedReason: the endpoint is available, and some subnets are in zones
	// that the service does not serve. Their nodes reach it through another
	// zone. To serve them, add nodes of the management cluster in these zones.
	ZonesNotServedReason = "ZonesNotServed"
	// SecurityGroupNameTakenReason: a security group of the name that ours would have
	// is there and not ours. Delete or rename it.
	SecurityGroupNameTakenReason = "SecurityGroupNameTaken"
	// EndpointPendingReason: AWS is making or changing the endpoint. Takes some minutes.
	EndpointPendingReason = "EndpointPending"
	// EndpointPendingAcceptanceReason: the owner of the service has to accept the
	// connection. We make services that accept by themselves, so somebody has
	// changed it; it is put right.
	EndpointPendingAcceptanceReason = "EndpointPendingAcceptance"
	// EndpointReplacedReason: the endpoint was rejected, failed, expired, or belonged
	// to another service. It is being deleted, and a new one will be made.
	EndpointReplacedReason = "EndpointReplaced"
	// HostedZoneNotFoundReason: the VPC resolves no private hosted zone of the
	// name that the message has. Create the zone, or associate it with the VPC.
	HostedZoneNotFoundReason = "HostedZoneNotFound"
	// HostedZoneAmbiguousReason: the VPC resolves several zones of that name.
	// Keep one.
	HostedZoneAmbiguousReason = "HostedZoneAmbiguous"
	// HostedZoneUnusableReason: the zone that the HostedCluster names is public,
	// has another name, or is not associated with the VPC. Name another one.
	HostedZoneUnusableReason = "HostedZoneUnusable"
	// RecordClaimedReason: a DNS record that we need points to another cluster. Two
	// clusters of one name cannot share a VPC; rename or move one.
	RecordClaimedReason = "RecordClaimed"
	// EndpointDeletingReason: the endpoint is being deleted. Takes some minutes.
	EndpointDeletingReason = "EndpointDeleting"
	// SecurityGroupInUseReason: the security group of the deleted endpoint is still
	// used by something else. The message names it; take it away there.
	SecurityGroupInUseReason = "SecurityGroupInUse"
	// EndpointDeletedReason: the endpoint and all that belonged to it are gone.
	EndpointDeletedReason = "EndpointDeleted"
)

package v1beta1

// Reasons of AWSEndpointAvailable, in addition to those for errors of AWS.
const (
	// WaitingForControlPlaneReason: there is no HostedControlPlane in the namespace yet, or no longer.
	WaitingForControlPlaneReason = "WaitingForControlPlane"
	// WaitingForSigningKeyReason: the Secret with the cluster's signing key does not exist yet.
	WaitingForSigningKeyReason = "WaitingForSigningKey"
	// WaitingForEndpointServiceReason: the endpoint service in the management account does not exist yet. See
	// AWSEndpointServiceAvailable.
	WaitingForEndpointServiceReason = "WaitingForEndpointService"
	// WaitingForSubnetsReason: no NodePool has a subnet yet. Create a NodePool.
	WaitingForSubnetsReason = "WaitingForSubnets"
	// InvalidPlatformReason: a setting of the HostedCluster that the endpoint needs is missing or cannot be used.
	InvalidPlatformReason = "InvalidPlatform"
	// SubnetsUnusableReason: no subnet of a NodePool exists in the VPC, in a zone that the endpoint service supports. Use other
	// subnets.
	SubnetsUnusableReason = "SubnetsUnusable"
	// SomeSubnetsUnusableReason: the endpoint is available, but some subnets of NodePools do not exist or are in another VPC. Use
	// other subnets for these NodePools.
	SomeSubnetsUnusableReason = "SomeSubnetsUnusable"
	// ZonesNotServedReason: the endpoint is available, but some subnets are in zones that the endpoint service does
	// not support. Their nodes reach it through another zone. To support these zones, add nodes of the management
	// cluster there.
	ZonesNotServedReason = "ZonesNotServed"
	// SecurityGroupNameTakenReason: a security group of another owner has the required name. Delete or rename it.
	SecurityGroupNameTakenReason = "SecurityGroupNameTaken"
	// EndpointPendingReason: AWS is creating or changing the endpoint, for some minutes.
	EndpointPendingReason = "EndpointPending"
	// EndpointPendingAcceptanceReason: the owner of the endpoint service has to accept the connection. The operator corrects
	// this.
	EndpointPendingAcceptanceReason = "EndpointPendingAcceptance"
	// EndpointReplacedReason: the endpoint was rejected, failed, expired, or belonged to another service. It is deleted and created
	// again.
	EndpointReplacedReason = "EndpointReplaced"
	// HostedZoneNotFoundReason: the VPC has no private hosted zone with the name in the message. Create the zone, or
	// associate it with the VPC.
	HostedZoneNotFoundReason = "HostedZoneNotFound"
	// HostedZoneAmbiguousReason: the VPC has several private hosted zones with that name. Remove all but one.
	HostedZoneAmbiguousReason = "HostedZoneAmbiguous"
	// HostedZoneUnusableReason: the zone in the HostedCluster is public, has another name, or is not associated with
	// the VPC. Set another zone.
	HostedZoneUnusableReason = "HostedZoneUnusable"
	// RecordClaimedReason: a required DNS record points to another cluster. Two clusters of the same name cannot
	// share a VPC. Rename or move one of them.
	RecordClaimedReason = "RecordClaimed"
	// EndpointDeletingReason: the endpoint is being deleted, for some minutes.
	EndpointDeletingReason = "EndpointDeleting"
	// SecurityGroupInUseReason: a resource still uses the deleted endpoint's security group. Remove the group there.
	SecurityGroupInUseReason = "SecurityGroupInUse"
	// EndpointDeletedReason: the endpoint and all its resources are deleted.
	EndpointDeletedReason = "EndpointDeleted"
)

package v1beta1

// Reasons of AWSEndpointAvailable, in addition to those for errors of AWS.
const (
	// WaitingForControlPlaneReason: there is no HostedControlPlane in the namespace. No action is needed while the
	// cluster is being created or deleted.
	WaitingForControlPlaneReason = "WaitingForControlPlane"
	// WaitingForSigningKeyReason: the Secret with the cluster's signing key, with which tokens for AWS are signed,
	// does not exist yet. No action is needed.
	WaitingForSigningKeyReason = "WaitingForSigningKey"
	// WaitingForEndpointServiceReason: the endpoint service in the management account does not exist yet. See
	// AWSEndpointServiceAvailable.
	WaitingForEndpointServiceReason = "WaitingForEndpointService"
	// WaitingForSubnetsReason: no NodePool has a subnet yet. Create a NodePool.
	WaitingForSubnetsReason = "WaitingForSubnets"
	// InvalidPlatformReason: the HostedCluster lacks a setting that the endpoint needs, or the setting cannot be
	// used. The message names it. Correct it.
	InvalidPlatformReason = "InvalidPlatform"
	// SubnetsUnusableReason: the subnets of all NodePools do not exist, are in another VPC, or are in zones that the endpoint
	// service does not support. The message names them. Use other subnets.
	SubnetsUnusableReason = "SubnetsUnusable"
	// SomeSubnetsUnusableReason: the endpoint is available, but some subnets of NodePools do not exist or are in another VPC.
	// The message names them. The cluster is available all the same. Use other subnets for these NodePools.
	SomeSubnetsUnusableReason = "SomeSubnetsUnusable"
	// ZonesNotServedReason: the endpoint is available, but some subnets are in zones that the endpoint service does
	// not support. Their nodes reach it through another zone. To support these zones, add nodes of the management
	// cluster there.
	ZonesNotServedReason = "ZonesNotServed"
	// SecurityGroupNameTakenReason: a security group of another owner has the name that the operator needs. Delete or
	// rename it.
	SecurityGroupNameTakenReason = "SecurityGroupNameTaken"
	// EndpointPendingReason: AWS is creating or changing the endpoint. This takes some minutes.
	EndpointPendingReason = "EndpointPending"
	// EndpointPendingAcceptanceReason: the owner of the endpoint service has to accept the connection. The operator
	// creates services without required acceptance, so this setting was changed by someone. The operator corrects it.
	// No action is needed.
	EndpointPendingAcceptanceReason = "EndpointPendingAcceptance"
	// EndpointReplacedReason: the endpoint was rejected, failed, expired, or belonged to another service. It is being
	// deleted and will be created again. No action is needed.
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
	// EndpointDeletingReason: the endpoint is being deleted. This takes some minutes.
	EndpointDeletingReason = "EndpointDeleting"
	// SecurityGroupInUseReason: the security group of the deleted endpoint is still in use. The message names the
	// user. Remove the security group there.
	SecurityGroupInUseReason = "SecurityGroupInUse"
	// EndpointDeletedReason: the endpoint and all its resources are deleted.
	EndpointDeletedReason = "EndpointDeleted"
)

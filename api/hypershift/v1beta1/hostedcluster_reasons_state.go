package v1beta1

// Reasons of Progressing and ReconciliationActive.
const (
	// BlockedReason: a condition blocks the roll-out. The message names it.
	BlockedReason = "Blocked"
	// ProgressingReason: the desired release is being rolled out.
	ProgressingReason = "Progressing"
	// ReconciliationPausedReason: spec.pausedUntil stops changes. Remove it to continue.
	ReconciliationPausedReason = "ReconciliationPaused"
	// ReconciliationInvalidPausedUntilReason: spec.pausedUntil is invalid, which counts as a pause. Correct it.
	ReconciliationInvalidPausedUntilReason = "InvalidPausedUntilValue"
)

// Reasons of NetworkPoliciesEnforced.
const (
	// NetworkPoliciesIgnoredReason: a connection succeeded that NetworkPolicies forbid. Install a network plugin that
	// enforces them, or enable enforcement in the present one.
	NetworkPoliciesIgnoredReason = "NetworkPoliciesIgnored"
	// NetworkPoliciesUntriedReason: no control plane of the management cluster has a pod that can be checked yet.
	NetworkPoliciesUntriedReason = "NetworkPoliciesUntried"
)

// Reasons of conditions about AWS, in addition to those for errors of AWS.
const (
	// PlatformCredentialsNotFoundReason: a role is missing in spec.platform.aws.rolesRef, or its Secret could not be
	// written. Complete rolesRef.
	PlatformCredentialsNotFoundReason = "PlatformCredentialsNotFound"
	// OIDCConfigurationInvalidReason: the documents cannot be published at the issuer URL.
	OIDCConfigurationInvalidReason = "OIDCConfigurationInvalid"
	// OIDCStorageMissingReason: the installation has no bucket for the documents. Install with --oidc-storage-provider-s3-*, or
	// set your own serviceAccountSigningKey.
	OIDCStorageMissingReason = "OIDCStorageMissing"
	// InvalidIdentityProviderReason: AWS does not know the issuer, or does not trust it. Create the IAM OIDC
	// provider.
	InvalidIdentityProviderReason = "InvalidIdentityProvider"
	// InvalidIAMRoleReason: a role cannot be assumed. Correct its ARN or its trust policy.
	InvalidIAMRoleReason = "InvalidIAMRole"
	// ServiceAccountTrustedReason: trust policies name service accounts, for which the hosted cluster's administrators can
	// create tokens. Use the subjects in the message.
	ServiceAccountTrustedReason = "ServiceAccountTrusted"
	// ControlPlaneOperatorNotRunningReason: the control-plane-operator does not run. Check the pods of the Deployment that the
	// message names.
	ControlPlaneOperatorNotRunningReason = "ControlPlaneOperatorNotRunning"
	// NoEndpointServicesReason: there is no AWSEndpointService, because the cluster is public or is still being created.
	NoEndpointServicesReason = "NoEndpointServices"
)

// Reasons of conditions about components of the control plane.
const (
	// WaitingOnInfrastructureReason: a load balancer or Route has no host name yet. A new load balancer takes some minutes.
	WaitingOnInfrastructureReason = "WaitingOnInfrastructureReady"
	// NotDeployedReason: this version of the operators does not run the component.
	NotDeployedReason = "NotDeployed"
	// WaitingForAvailableReason: the component is starting.
	WaitingForAvailableReason = "WaitingForAvailable"
	// EtcdQuorumAvailableReason: a majority of the etcd members is available.
	EtcdQuorumAvailableReason = "QuorumAvailable"
	// EtcdWaitingForQuorumReason: too few etcd members are available. If this persists, check their pods and volumes.
	EtcdWaitingForQuorumReason = "EtcdWaitingForQuorum"
	// EtcdDataMissingReason: an etcd member that had data has an empty volume, and no other member has the data. It does not
	// start empty. Restore the volume, or those of most members, or follow docs/etcd.md.
	EtcdDataMissingReason = "EtcdDataMissing"
	// EtcdDataCorruptReason: an etcd member's data differs from the others, and etcd has stopped reading and writing. Replace
	// the named member's volume as described in docs/etcd.md.
	EtcdDataCorruptReason = "EtcdDataCorrupt"
	// KubeconfigWaitingForCreateReason: the administrator's kubeconfig has not been created yet.
	KubeconfigWaitingForCreateReason = "KubeconfigWaitingForCreate"
	// ExternalDNSHostNotReachableReason: a host name of spec.services does not exist, or does not lead to its load
	// balancer. Create or change the DNS record that the message names, or check the logs of external-dns.
	ExternalDNSHostNotReachableReason = "ExternalDNSHostNotReachable"
	// MissingReleaseImagesReason: the release payload lacks the images in the message. Set a complete release.
	MissingReleaseImagesReason = "MissingReleaseImages"
)

// Reasons of conditions that appear while a cluster is being deleted.
const (
	// CloudResourcesRemainingReason: the message lists the remaining cloud resources. Wait while their number decreases.
	CloudResourcesRemainingReason = "CloudResourcesRemaining"
	// ControllerNotRunningReason: the program that deletes the cloud resources in the message does not run, for example without
	// nodes. The deletion does not wait. Delete them manually.
	ControllerNotRunningReason = "ControllerNotRunning"
	// CloudResourcesCleanupSkippedReason: the operator stopped waiting for the cloud resources in the message: its AWS identity was
	// lost, or the hosted cluster did not delete them. Delete them manually.
	CloudResourcesCleanupSkippedReason = "CloudResourcesCleanupSkipped"
	// WaitingForGracePeriodReason: everything is deleted. The object stays for the requested grace period.
	WaitingForGracePeriodReason = "WaitingForGracePeriod"
)

package v1beta1

// Reasons of Progressing and ReconciliationActive.
const (
	// BlockedReason: a condition stands in the way of the roll-out; the message names it.
	BlockedReason = "Blocked"
	// ProgressingReason: the wanted release is being rolled out. Nothing to do.
	ProgressingReason = "Progressing"
	// ReconciliationPausedReason: spec.pausedUntil stops changes. Remove it to go on.
	ReconciliationPausedReason = "ReconciliationPaused"
	// ReconciliationInvalidPausedUntilReason: spec.pausedUntil cannot be read. Changes are stopped, because somebody wanted
	// them to be; write it again.
	ReconciliationInvalidPausedUntilReason = "InvalidPausedUntilValue"
)

// Reasons of NetworkPoliciesEnforced.
const (
	// NetworkPoliciesIgnoredReason: a connection that NetworkPolicies forbid was made. Install a network that enforces them, or
	// enable it in the one that is there.
	NetworkPoliciesIgnoredReason = "NetworkPoliciesIgnored"
	// NetworkPoliciesUntriedReason: no control plane of the management cluster has a pod that can be tried yet. It is tried
	// again by itself.
	NetworkPoliciesUntriedReason = "NetworkPoliciesUntried"
)

// Reasons of conditions about AWS, beside the kinds of errors that AWS gives.
const (
	// PlatformCredentialsNotFoundReason: a role is missing in spec.platform.aws.rolesRef, or its Secret could not be written.
	PlatformCredentialsNotFoundReason = "PlatformCredentialsNotFound"
	// OIDCConfigurationInvalidReason: the documents cannot be published where the issuer URL points. The message says why.
	OIDCConfigurationInvalidReason = "OIDCConfigurationInvalid"
	// OIDCStorageMissingReason: the installation has no bucket for the documents. Install with --oidc-storage-provider-s3-*,
	// or bring a key with serviceAccountSigningKey.
	OIDCStorageMissingReason = "OIDCStorageMissing"
	// OIDCDocumentsDifferReason: the documents at the issuer URL are not those of the cluster's key. If the key is the
	// user's, publish them again; otherwise they are put right.
	OIDCDocumentsDifferReason = "OIDCDocumentsDiffer"
	// InvalidIdentityProviderReason: AWS does not know the issuer, or does not trust it. Create the IAM OIDC provider.
	InvalidIdentityProviderReason = "InvalidIdentityProvider"
	// InvalidIAMRoleReason: a role cannot be taken on. Correct its ARN or its trust policy.
	InvalidIAMRoleReason = "InvalidIAMRole"
	// ServiceAccountTrustedReason: the trust policies of roles name service accounts of the hosted cluster, for which its
	// administrators can mint tokens. Name the subjects in the message instead.
	ServiceAccountTrustedReason = "ServiceAccountTrusted"
	// AWSErrorReason: AWS answered with an error; the message holds it.
	AWSErrorReason = "AWSError"
	// ControlPlaneOperatorNotRunningReason: the control-plane-operator, which alone knows, does not run. The message names its
	// Deployment and repeats what that says; look at its pods.
	ControlPlaneOperatorNotRunningReason = "ControlPlaneOperatorNotRunning"
	// NoEndpointServicesReason: there is no AWSEndpointService, because the cluster is public or is still being made.
	NoEndpointServicesReason = "NoEndpointServices"
)

// Reasons of conditions about the parts of the control plane.
const (
	// WaitingOnInfrastructureReason: load balancers or routes have no host name yet. The message names the one.
	WaitingOnInfrastructureReason = "WaitingOnInfrastructureReady"
	// InfraStatusFailureReason: the state of a load balancer or route could not be learned; the message says why.
	InfraStatusFailureReason = "InfraStatusFailure"
	// NotDeployedReason: this version of the operators does not run that part of the control plane. A later one does.
	NotDeployedReason = "NotDeployed"
	// WaitingForAvailableReason: the part is starting. Nothing to do unless it stays.
	WaitingForAvailableReason = "WaitingForAvailable"
	// EtcdQuorumAvailableReason: a majority of etcd's members serves.
	EtcdQuorumAvailableReason = "QuorumAvailable"
	// EtcdWaitingForQuorumReason: too few members of etcd serve. Look at their pods and volumes if it stays.
	EtcdWaitingForQuorumReason = "EtcdWaitingForQuorum"
	// EtcdDataMissingReason: a member of etcd that has been up finds its volume empty, and nobody to get the data from. It does not
	// begin with nothing: bring back the volume, or those of most members. If they are lost for good, begin a new HostedCluster
	// with a snapshot, or give up what was there: docs/control-plane.md says how.
	EtcdDataMissingReason = "EtcdDataMissing"
	// EtcdDataCorruptReason: the data of a member of etcd differs from that of the others, and etcd has stopped reading and writing.
	// Replace the volume of the member that the message names, as docs/control-plane.md says.
	EtcdDataCorruptReason = "EtcdDataCorrupt"
	// EtcdStatefulSetNotFoundReason: etcd has not been made yet. Nothing to do unless it stays.
	EtcdStatefulSetNotFoundReason = "StatefulSetNotFound"
	// KubeconfigWaitingForCreateReason: the administrator's kubeconfig has not been made yet. Nothing to do unless it stays.
	KubeconfigWaitingForCreateReason = "KubeconfigWaitingForCreate"
	// ExternalDNSHostNotReachableReason: a host name of spec.services does not resolve. Make the record, or wait.
	ExternalDNSHostNotReachableReason = "ExternalDNSHostNotReachable"
	// KASLoadBalancerNotReachableReason: the load balancer of the API server does not answer. Check its targets and who may
	// reach it.
	KASLoadBalancerNotReachableReason = "KASLoadBalancerNotReachable"
	// MissingReleaseImagesReason: the payload lacks images; the message names them. Choose a complete payload.
	MissingReleaseImagesReason = "MissingReleaseImages"
	// NoWorkerNodesAvailableReason: there are no nodes to judge by. Add a NodePool.
	NoWorkerNodesAvailableReason = "NoWorkerNodesAvailable"
	// FromClusterVersionReason: the condition repeats what the ClusterVersion object says.
	FromClusterVersionReason = "FromClusterVersion"
	// ClusterVersionStatusUnknownReason: the ClusterVersion object does not speak of this yet. Nothing to do.
	ClusterVersionStatusUnknownReason = "ClusterVersionStatusUnknown"
)

// Reasons of conditions that appear while a cluster is being deleted.
const (
	// CloudResourcesRemainingReason: the message names what is still there. Nothing to do while it shrinks.
	CloudResourcesRemainingReason = "CloudResourcesRemaining"
	// CloudResourcesCleanupSkippedReason: something in the cloud could not be removed, and was given up after a while: its AWS
	// identity was lost, or the hosted cluster did not remove what it had made. The message names it; remove it by hand.
	CloudResourcesCleanupSkippedReason = "CloudResourcesCleanupSkipped"
	// WaitingForGracePeriodReason: everything is gone; the object stays for the grace period that was asked for.
	WaitingForGracePeriodReason = "WaitingForGracePeriod"
)

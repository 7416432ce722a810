package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePoolCondition is one statement about a NodePool. It is not metav1.Condition because it passes on what Cluster
// API says about machines, whose reasons, joined, are longer and freer than metav1.Condition allows.
type NodePoolCondition struct {
	// type is what the statement is about.
	// +required
	Type string `json:"type"`

	// status is True, False or Unknown.
	// +required
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status corev1.ConditionStatus `json:"status"`

	// severity tells an error from what passes by itself, where status is False.
	// +optional
	Severity string `json:"severity,omitempty"`

	// lastTransitionTime is when status last changed.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// reason is one word for why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message says why, in words.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// observedGeneration is the generation of the NodePool that was looked at.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Conditions of a NodePool. Where nothing else is said, True is good, and what to do while it is not stands in the
// message.
const (
	// NodePoolReadyCondition says that the nodes asked for are there. While False, its message names what is awaited.
	NodePoolReadyCondition = "Ready"

	// NodePoolAutoscalingEnabledCondition says whether spec.autoScaling is in force. False is normal with
	// spec.replicas; with reason ValidationFailed, correct spec.autoScaling as the message says.
	NodePoolAutoscalingEnabledCondition = "AutoscalingEnabled"

	// NodePoolAutorepairEnabledCondition says whether broken machines are replaced (spec.management.autoRepair).
	NodePoolAutorepairEnabledCondition = "AutorepairEnabled"

	// NodePoolUpdateManagementEnabledCondition says that spec.management can be followed. Correct it if False.
	NodePoolUpdateManagementEnabledCondition = "UpdateManagementEnabled"

	// NodePoolValidReleaseImageCondition says that the release was read. If False, look at spec.release.image and at
	// the pull secret of the HostedCluster.
	NodePoolValidReleaseImageCondition = "ValidReleaseImage"

	// NodePoolValidConfigurationCondition says that the object could be read and its settings fit each other. If
	// False, correct what the message names; nothing is changed until then.
	NodePoolValidConfigurationCondition = "ValidConfiguration"

	// NodePoolSupportedFieldsCondition says that this version acts on every field of spec. If False, the message names
	// those that it accepts and does nothing about yet; do not rely on them.
	NodePoolSupportedFieldsCondition = "SupportedFields"

	// NodePoolValidArchPlatformCondition says that platform and release have nodes of spec.arch. If False, choose
	// another arch (in a new pool) or another release.
	NodePoolValidArchPlatformCondition = "ValidArchPlatform"

	// NodePoolReconciliationActiveCondition is False while spec.pausedUntil stops changes. Take it away to go on.
	NodePoolReconciliationActiveCondition = "ReconciliationActive"

	// NodePoolSupportedVersionSkewCondition says that the nodes are neither newer than the control plane nor too old
	// for it. If False, upgrade the pool, or the HostedCluster first.
	NodePoolSupportedVersionSkewCondition = "SupportedVersionSkew"

	// NodePoolValidMachineConfigCondition says that the ConfigMaps of spec.config exist and were understood. If False,
	// correct the one that the message names.
	NodePoolValidMachineConfigCondition = "ValidMachineConfig"

	// NodePoolValidTuningConfigCondition says the same of spec.tuningConfig.
	NodePoolValidTuningConfigCondition = "ValidTuningConfig"

	// NodePoolUpdatingConfigCondition is True while nodes move to another configuration. False is the normal state.
	NodePoolUpdatingConfigCondition = "UpdatingConfig"

	// NodePoolUpdatingVersionCondition is True while nodes move to another version. False is the normal state.
	NodePoolUpdatingVersionCondition = "UpdatingVersion"

	// NodePoolUpdatingPlatformMachineTemplateCondition is True while nodes move to other machines (instance type, image,
	// volume, ...). False is the normal state.
	NodePoolUpdatingPlatformMachineTemplateCondition = "UpdatingPlatformMachineTemplate"

	// NodePoolIgnitionEndpointAvailableCondition is kept for old clients and never there: machines have their configuration
	// with them when they start, and no endpoint hands it out.
	NodePoolIgnitionEndpointAvailableCondition = "IgnitionEndpointAvailable"

	// NodePoolValidGeneratedPayloadCondition says that the configuration of the nodes could be rendered. If False, the
	// message names the part of spec.config or of the release that could not.
	NodePoolValidGeneratedPayloadCondition = "ValidGeneratedPayload"

	// NodePoolReachedIgnitionEndpointCondition says that some machine has joined the cluster with its configuration. If it stays
	// False while machines run, they cannot reach the control plane: check routes, security groups and, for a private
	// cluster, the AWSEndpointServices.
	NodePoolReachedIgnitionEndpointCondition = "ReachedIgnitionEndpoint"

	// NodePoolAllMachinesReadyCondition says that every machine runs. If False, the message groups the machines by what
	// they wait for.
	NodePoolAllMachinesReadyCondition = "AllMachinesReady"

	// NodePoolAllNodesHealthyCondition says that every node is ready. If False, the message groups them by reason.
	NodePoolAllNodesHealthyCondition = "AllNodesHealthy"

	// NodePoolClusterNetworkCIDRConflictCondition is there, and True, only while a machine has an address out of the pod
	// or service network. Use a subnet outside of both, or a cluster with other networks.
	NodePoolClusterNetworkCIDRConflictCondition = "ClusterNetworkCIDRConflict"

	// NodePoolValidPlatformConfigCondition says that spec.platform fits AWS and the cluster (instance type and arch, the
	// subnet's VPC). If False, correct what the message names.
	NodePoolValidPlatformConfigCondition = "ValidPlatformConfig"

	// NodePoolValidPlatformImageCondition says that there is an image for region and arch. If False, set
	// spec.platform.aws.ami.
	NodePoolValidPlatformImageCondition = "ValidPlatformImage"

	// NodePoolAWSSecurityGroupAvailableCondition says that the security group of the cluster's workers exists. Nothing to
	// do but wait; if it stays False, look at the HostedCluster.
	NodePoolAWSSecurityGroupAvailableCondition = "AWSSecurityGroupAvailable"

	// NodePoolAWSResourceTagConflictCondition is True while a tag of the pool loses against one of the cluster. Remove the
	// tag from the pool, or set overridePolicy Allow at the cluster's. False, or absent, is the normal state.
	NodePoolAWSResourceTagConflictCondition = "AWSResourceTagConflict"

	// NodePoolValidMachineTemplateCondition says that the machine template could be made.
	NodePoolValidMachineTemplateCondition = "ValidMachineTemplate"

	// NodePoolDeletingCondition is there, and True, while the pool goes; its message counts the machines that are left.
	NodePoolDeletingCondition = "Deleting"
)

// Reasons of NodePool conditions. What Cluster API says about machines is passed on with reasons of its own.
const (
	// NodePoolAsExpectedReason: nothing to do.
	NodePoolAsExpectedReason = "AsExpected"

	// NodePoolValidationFailedReason: the spec cannot be followed. Correct what the message names.
	NodePoolValidationFailedReason = "ValidationFailed"

	// NodePoolNotFoundReason: an object that the spec names does not exist. Create it or correct the name.
	NodePoolNotFoundReason = "NotFound"

	// NodePoolFailedToGetReason: an object could not be read, and it will be tried again.
	NodePoolFailedToGetReason = "FailedToGet"

	// NodePoolIgnitionEndpointMissingReason: the control plane has no address for node configuration yet. Wait.
	NodePoolIgnitionEndpointMissingReason = "IgnitionEndpointMissing"

	// NodePoolIgnitionCACertMissingReason: the certificate authority of that address is not there yet. Wait.
	NodePoolIgnitionCACertMissingReason = "IgnitionCACertMissing"

	// NodePoolIgnitionNotReachedReason: no machine has fetched its configuration yet.
	NodePoolIgnitionNotReachedReason = "ignitionNotReached"

	// NodePoolDefaultSecurityGroupNotReadyReason: the security group of the cluster's workers is not there yet. Wait.
	NodePoolDefaultSecurityGroupNotReadyReason = "DefaultSGNotReady"

	// NodePoolUnsupportedSkewReason: the pool's version does not go with that of the control plane.
	NodePoolUnsupportedSkewReason = "UnsupportedSkew"

	// NodePoolInplaceUpgradeFailedReason: a node could not be changed in place. Look at the node that the message names.
	NodePoolInplaceUpgradeFailedReason = "InplaceUpgradeFailed"

	// NodePoolTagConflictDetectedReason: a tag of the pool loses against one of the cluster.
	NodePoolTagConflictDetectedReason = "TagConflictDetected"

	// NodePoolNoTagConflictReason: no tag of the pool loses.
	NodePoolNoTagConflictReason = "NoTagConflict"
)

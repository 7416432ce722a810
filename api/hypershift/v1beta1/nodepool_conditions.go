package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePoolCondition is one condition of a NodePool. It is not metav1.Condition, because it also contains conditions
// of Cluster API's machines. Their combined reasons are longer than metav1.Condition permits and have other
// characters.
type NodePoolCondition struct {
	// type is the type of the condition.
	// +required
	Type string `json:"type"`

	// status is True, False or Unknown.
	// +required
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status corev1.ConditionStatus `json:"status"`

	// severity distinguishes an error from a temporary state, if status is False.
	// +optional
	Severity string `json:"severity,omitempty"`

	// lastTransitionTime is the time of the last change of status.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// reason is the cause in one word.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message describes the cause.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// observedGeneration is the generation of the NodePool that the condition describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Conditions of a NodePool.
const (
	// NodePoolReadyCondition is True when at least the desired number of nodes is available.
	NodePoolReadyCondition = "Ready"

	// NodePoolReconcilingCondition is True while nodes are updated to another version, configuration or machine template. Otherwise
	// it is absent. Ready stays True if enough nodes are available.
	NodePoolReconcilingCondition = "Reconciling"

	// NodePoolStalledCondition is True while waiting does not help: the condition that the message names requires a
	// change of spec. Otherwise it is absent.
	NodePoolStalledCondition = "Stalled"

	// NodePoolAutoscalingEnabledCondition is True when the cluster autoscaler runs and has the bounds of spec.autoScaling. False is
	// normal with spec.replicas. With reason ValidationFailed, correct spec.autoScaling.
	NodePoolAutoscalingEnabledCondition = "AutoscalingEnabled"

	// NodePoolAutorepairEnabledCondition is True when unhealthy machines are replaced (spec.management.autoRepair).
	NodePoolAutorepairEnabledCondition = "AutorepairEnabled"

	// NodePoolUpdateManagementEnabledCondition is True when spec.management is valid. If False, correct it.
	NodePoolUpdateManagementEnabledCondition = "UpdateManagementEnabled"

	// NodePoolValidReleaseImageCondition is True when the release was read. If False, check spec.release.image and
	// the pull secret of the HostedCluster.
	NodePoolValidReleaseImageCondition = "ValidReleaseImage"

	// NodePoolValidConfigurationCondition is True when the object could be decoded and its fields are consistent. Nothing is
	// changed until then.
	NodePoolValidConfigurationCondition = "ValidConfiguration"

	// NodePoolSupportedFieldsCondition is True when this version supports all fields in spec. The message lists fields that have no
	// effect.
	NodePoolSupportedFieldsCondition = "SupportedFields"

	// NodePoolValidArchPlatformCondition is True when platform and release support spec.arch. If False, set another
	// arch (in a new pool) or another release.
	NodePoolValidArchPlatformCondition = "ValidArchPlatform"

	// NodePoolReconciliationActiveCondition is False while spec.pausedUntil stops changes. Remove it to continue.
	NodePoolReconciliationActiveCondition = "ReconciliationActive"

	// NodePoolSupportedVersionSkewCondition is True when the nodes are neither newer than the control plane nor too
	// old for it. If False, upgrade the pool, or the HostedCluster first.
	NodePoolSupportedVersionSkewCondition = "SupportedVersionSkew"

	// NodePoolValidMachineConfigCondition is True when the ConfigMaps of spec.config exist and are valid.
	NodePoolValidMachineConfigCondition = "ValidMachineConfig"

	// NodePoolValidTuningConfigCondition is True when the ConfigMaps of spec.tuningConfig exist and are valid.
	NodePoolValidTuningConfigCondition = "ValidTuningConfig"

	// NodePoolUpdatingConfigCondition is True while nodes are updated to another configuration. False is normal.
	NodePoolUpdatingConfigCondition = "UpdatingConfig"

	// NodePoolUpdatingVersionCondition is True while nodes are updated to another version. False is normal.
	NodePoolUpdatingVersionCondition = "UpdatingVersion"

	// NodePoolUpdatingPlatformMachineTemplateCondition is True while machines are replaced because of another instance type,
	// image or volume. False is normal.
	NodePoolUpdatingPlatformMachineTemplateCondition = "UpdatingPlatformMachineTemplate"

	// NodePoolValidGeneratedPayloadCondition is True when the nodes' configuration could be rendered. The message names the part of
	// spec.config or of the release that could not.
	NodePoolValidGeneratedPayloadCondition = "ValidGeneratedPayload"

	// NodePoolReachedIgnitionEndpointCondition is True when at least one machine has joined the cluster with its configuration.
	// If it stays False while machines run, check routes, security groups and AWSEndpointServices.
	NodePoolReachedIgnitionEndpointCondition = "ReachedIgnitionEndpoint"

	// NodePoolAllMachinesReadyCondition is True when all machines run.
	NodePoolAllMachinesReadyCondition = "AllMachinesReady"

	// NodePoolAllNodesHealthyCondition is True when all nodes are ready.
	NodePoolAllNodesHealthyCondition = "AllNodesHealthy"

	// NodePoolClusterNetworkCIDRConflictCondition is True while a machine has an address of the pod or service network.
	// Otherwise it is absent. Use another subnet, or a cluster with other networks.
	NodePoolClusterNetworkCIDRConflictCondition = "ClusterNetworkCIDRConflict"

	// NodePoolValidPlatformConfigCondition is True when spec.platform matches AWS and the cluster (instance type and arch, the
	// subnet's VPC).
	NodePoolValidPlatformConfigCondition = "ValidPlatformConfig"

	// NodePoolValidPlatformImageCondition is True when there is an image for the region and arch. If False, set
	// spec.platform.aws.ami.
	NodePoolValidPlatformImageCondition = "ValidPlatformImage"

	// NodePoolAWSSecurityGroupAvailableCondition is True when the workers' security group exists. If it stays False, check the
	// conditions of the HostedCluster.
	NodePoolAWSSecurityGroupAvailableCondition = "AWSSecurityGroupAvailable"

	// NodePoolAWSResourceTagConflictCondition is True while a tag of the cluster overrides a tag of the pool. Remove the tag from
	// the pool, or set overridePolicy Allow in the cluster. False or absent is normal.
	NodePoolAWSResourceTagConflictCondition = "AWSResourceTagConflict"

	// NodePoolValidMachineTemplateCondition is True when the machine template could be created.
	NodePoolValidMachineTemplateCondition = "ValidMachineTemplate"

	// NodePoolDeletingCondition is True while the pool is being deleted. Its message counts the remaining machines.
	// Otherwise it is absent.
	NodePoolDeletingCondition = "Deleting"
)

// Reasons of NodePool conditions. Conditions that are copied from Cluster API's machines keep their own reasons.
const (
	// NodePoolAsExpectedReason: the state is as desired.
	NodePoolAsExpectedReason = "AsExpected"

	// NodePoolValidationFailedReason: spec is invalid.
	NodePoolValidationFailedReason = "ValidationFailed"

	// NodePoolNotFoundReason: an object in spec does not exist. Create it or correct the name.
	NodePoolNotFoundReason = "NotFound"

	// NodePoolIgnitionNotReachedReason: no machine has fetched its configuration yet.
	NodePoolIgnitionNotReachedReason = "ignitionNotReached"

	// NodePoolDefaultSecurityGroupNotReadyReason: the workers' security group does not exist yet.
	NodePoolDefaultSecurityGroupNotReadyReason = "DefaultSGNotReady"

	// NodePoolUnsupportedSkewReason: the pool's version is not compatible with the control plane's version. Change one of them.
	NodePoolUnsupportedSkewReason = "UnsupportedSkew"

	// NodePoolTagConflictDetectedReason: a tag of the cluster overrides a tag of the pool. Remove the tag from the
	// pool, or set overridePolicy Allow in the cluster.
	NodePoolTagConflictDetectedReason = "TagConflictDetected"

	// NodePoolNoTagConflictReason: the cluster overrides no tag of the pool.
	NodePoolNoTagConflictReason = "NoTagConflict"
)

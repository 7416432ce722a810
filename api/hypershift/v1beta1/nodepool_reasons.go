package v1beta1

// Reasons of NodePool conditions that are about machines.
const (
	// NodePoolReplicasSetReason: spec.replicas sets the number of nodes. To use the cluster autoscaler, set
	// spec.autoScaling in its place.
	NodePoolReplicasSetReason = "ReplicasSet"
	// NodePoolAutoscalerDisabledReason: the HostedCluster has the annotation
	// hypershift.openshift.io/disable-cluster-autoscaler. Remove it, or set spec.replicas.
	NodePoolAutoscalerDisabledReason = "AutoscalerDisabled"
	// NodePoolAutoscalerMissingReason: the release has no image cluster-autoscaler. The pool keeps the number of its nodes within
	// its bounds. Choose a release with the image, or set spec.replicas.
	NodePoolAutoscalerMissingReason = "AutoscalerMissing"
	// NodePoolAutoscalerNotAvailableReason: the cluster autoscaler does not run. If this persists, check the Deployment
	// cluster-autoscaler in the control plane's namespace.
	NodePoolAutoscalerNotAvailableReason = "AutoscalerNotAvailable"
	// NodePoolAutoRepairOffReason: spec.management.autoRepair is false. An unhealthy machine stays until a person
	// deletes it.
	NodePoolAutoRepairOffReason = "AutoRepairOff"
	// NodePoolRemediationRestrictedReason: too many machines are unhealthy, so none is replaced. Find their common cause, or
	// raise the annotation machine-health-check-max-unhealthy.
	NodePoolRemediationRestrictedReason = "RemediationRestricted"
	// NodePoolReservedReason: the value is reserved and has no effect. Create a pool with another value.
	NodePoolReservedReason = "Reserved"
	// NodePoolUnknownInstanceTypeReason: the region's EC2 does not have the instance type. Set another one.
	NodePoolUnknownInstanceTypeReason = "UnknownInstanceType"
	// NodePoolArchMismatchReason: the instance type's processor architecture differs from spec.arch. Set another instance type, or
	// create a pool with another arch.
	NodePoolArchMismatchReason = "ArchMismatch"
	// NodePoolImageUnknownReason: the release has no machine image for the region and arch. Set
	// spec.platform.aws.ami.
	NodePoolImageUnknownReason = "ImageUnknown"
	// NodePoolUpdatingReason: machines are being replaced. With strategy OnDelete, delete each machine to replace it.
	NodePoolUpdatingReason = "Updating"
	// NodePoolWaitingForMachinesReason: there are fewer machines than desired.
	NodePoolWaitingForMachinesReason = "WaitingForMachines"
	// NodePoolMachinesNotReadyReason: machines do not run yet, or no longer run.
	NodePoolMachinesNotReadyReason = "MachinesNotReady"
	// NodePoolNodesNotHealthyReason: nodes are missing or not ready.
	NodePoolNodesNotHealthyReason = "NodesNotHealthy"
	// NodePoolMachinesGoReason: the machines of a deleted pool are being deleted.
	NodePoolMachinesGoReason = "MachinesGo"
	// NodePoolNetworkConflictReason: machines have addresses of the cluster's networks. Use another subnet, in a new pool.
	NodePoolNetworkConflictReason = "NetworkConflict"
	// NodePoolNodesJoinedReason: a machine has joined with its configuration.
	NodePoolNodesJoinedReason = "NodesJoined"
)

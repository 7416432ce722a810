package v1beta1

// Reasons of NodePool conditions that are about machines.
const (
	// NodePoolReplicasSetReason: spec.replicas says how many nodes there are. Set spec.autoScaling instead to let the cluster
	// autoscaler choose.
	NodePoolReplicasSetReason = "ReplicasSet"
	// NodePoolAutoRepairOffReason: spec.management.autoRepair is false, so a broken machine stays until somebody deletes it.
	NodePoolAutoRepairOffReason = "AutoRepairOff"
	// NodePoolRemediationRestrictedReason: so many machines are broken at once that none is replaced. Find what they share, or
	// raise the annotation machine-health-check-max-unhealthy.
	NodePoolRemediationRestrictedReason = "RemediationRestricted"
	// NodePoolReservedReason: the value is kept for later, and nothing acts on it. Create a pool with another.
	NodePoolReservedReason = "Reserved"
	// NodePoolUnknownInstanceTypeReason: EC2 has no such instance type in the region of the cluster. Choose another.
	NodePoolUnknownInstanceTypeReason = "UnknownInstanceType"
	// NodePoolArchMismatchReason: machines of the instance type have another processor than spec.arch. Choose another type, or
	// create a pool with another arch.
	NodePoolArchMismatchReason = "ArchMismatch"
	// NodePoolImageUnknownReason: the release names no machine image for region and arch. Set spec.platform.aws.ami.
	NodePoolImageUnknownReason = "ImageUnknown"
	// NodePoolUpdatingReason: machines are being replaced; the message counts them. Nothing to do, but with strategy OnDelete:
	// there each machine stays until somebody deletes it.
	NodePoolUpdatingReason = "Updating"
	// NodePoolWaitingForMachinesReason: there are fewer machines than wanted. Nothing to do unless it stays.
	NodePoolWaitingForMachinesReason = "WaitingForMachines"
	// NodePoolMachinesNotReadyReason: machines do not run yet, or no longer. The message groups them by what they wait for.
	NodePoolMachinesNotReadyReason = "MachinesNotReady"
	// NodePoolNodesNotHealthyReason: nodes are missing or broken. The message groups them by what is wrong.
	NodePoolNodesNotHealthyReason = "NodesNotHealthy"
	// NodePoolMachinesGoReason: the machines of a deleted pool are being taken away. The message counts them.
	NodePoolMachinesGoReason = "MachinesGo"
	// NodePoolNetworkConflictReason: the message names the machines and the networks. Use another subnet, in a new pool.
	NodePoolNetworkConflictReason = "NetworkConflict"
	// NodePoolNodesJoinedReason: a machine has fetched its configuration and joined.
	NodePoolNodesJoinedReason = "NodesJoined"
)

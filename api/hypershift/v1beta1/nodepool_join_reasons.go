package v1beta1

// Reasons of NodePool conditions that are about machines which do not become nodes. A reason that is not in this list is
// an error code of EC2: there is no instance. docs/troubleshooting.md describes what to do about each.
const (
	// NodePoolInstanceNotRunningReason: the instance is stopped, or has been terminated.
	NodePoolInstanceNotRunningReason = "InstanceNotRunning"
	// NodePoolInstanceImpairedReason: a status check of EC2 fails.
	NodePoolInstanceImpairedReason = "InstanceImpaired"
	// NodePoolInstanceNotBootedReason: the instance runs, and its console is empty.
	NodePoolInstanceNotBootedReason = "InstanceNotBooted"
	// NodePoolNodeProgramsUnavailableReason: the machine cannot install kubelet and container runtime.
	NodePoolNodeProgramsUnavailableReason = "NodeProgramsUnavailable"
	// NodePoolAPIServerUnreachableReason: the machine runs, and does not reach the API server.
	NodePoolAPIServerUnreachableReason = "APIServerUnreachable"
	// NodePoolNodeRefusedReason: the API server rejects the machine's bootstrap token, or its certificate request is not approved.
	// A token expires after half an hour; the machine is replaced.
	NodePoolNodeRefusedReason = "NodeRefused"
	// NodePoolNodeNotJoinedReason: the instance runs, is not a node yet, and reports no cause.
	NodePoolNodeNotJoinedReason = "NodeNotJoined"
	// NodePoolPodNetworkNotReadyReason: machines are nodes, and no network plug-in is ready on them.
	NodePoolPodNetworkNotReadyReason = "PodNetworkNotReady"
	// NodePoolRepairBackoffReason: replaced machines did not join either, and the next ones are replaced later each time.
	// Remove the cause. To retry at once, delete a Machine.
	NodePoolRepairBackoffReason = "RepairBackoff"
)

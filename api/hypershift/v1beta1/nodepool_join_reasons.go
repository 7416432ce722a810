package v1beta1

// Reasons of NodePool conditions that are about machines which do not become nodes. A reason that is not in this list is
// an error code of EC2: there is no instance. docs/troubleshooting.md describes what to do about each.
const (
	// NodePoolInstanceNotRunningReason: the instance is stopped, or has been terminated. Check who stopped it.
	NodePoolInstanceNotRunningReason = "InstanceNotRunning"
	// NodePoolInstanceImpairedReason: a status check of EC2 fails: the instance's host is broken, or the operating system does not
	// respond. Check the machine image and the instance type.
	NodePoolInstanceImpairedReason = "InstanceImpaired"
	// NodePoolInstanceNotBootedReason: the instance runs, and its console is empty. Check the machine image: its
	// architecture, its boot loader, and whether it writes to the serial console.
	NodePoolInstanceNotBootedReason = "InstanceNotBooted"
	// NodePoolNodeProgramsUnavailableReason: the machine cannot install kubelet and container runtime. It reports the cause: a
	// registry that cannot be reached or that rejects it, a wrong digest, a full disk.
	NodePoolNodeProgramsUnavailableReason = "NodeProgramsUnavailable"
	// NodePoolAPIServerUnreachableReason: the machine runs, and does not reach the API server. Check routes, security
	// groups, network ACLs, name resolution of the VPC and, for a private cluster, the AWSEndpointServices.
	NodePoolAPIServerUnreachableReason = "APIServerUnreachable"
	// NodePoolNodeRefusedReason: the API server rejects the machine's bootstrap token, or its certificate request is not approved.
	// A machine that was stopped for longer than half an hour has an expired token, and is replaced.
	NodePoolNodeRefusedReason = "NodeRefused"
	// NodePoolNodeNotJoinedReason: the instance runs, is not a node yet, and reports no cause. The message quotes the
	// last lines of its console.
	NodePoolNodeNotJoinedReason = "NodeNotJoined"
	// NodePoolPodNetworkNotReadyReason: machines are nodes, and no network plug-in is ready on them. Install one in the
	// hosted cluster, or check its pods.
	NodePoolPodNetworkNotReadyReason = "PodNetworkNotReady"
	// NodePoolRepairBackoffReason: machines were replaced, and the new ones did not join either. The next ones are
	// replaced later, twice as late each time. Remove the cause. To retry at once, delete a Machine.
	NodePoolRepairBackoffReason = "RepairBackoff"
)

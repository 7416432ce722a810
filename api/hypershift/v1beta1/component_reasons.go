package v1beta1

// Reasons of the conditions of a ControlPlaneComponent, and of Degraded of the HostedControlPlane. Messages contain
// the status of the pods.
const (
	// ImageNotPulledReason: an image cannot be pulled. Compare the image that the message names with the registry, with the pull
	// secret, and with the registry overrides of the installation.
	ImageNotPulledReason = "ImageNotPulled"
	// ContainerNotStartedReason: the node cannot start a container. The message contains the kubelet's reason.
	ContainerNotStartedReason = "ContainerNotStarted"
	// ContainerCrashedReason: a container exits soon after its start. The message contains the last lines of its
	// output. Read its log for more.
	ContainerCrashedReason = "ContainerCrashed"
	// PodUnschedulableReason: no node of the management cluster fits a pod. The message contains the scheduler's
	// reason. Add nodes, or change spec.nodeSelector and spec.tolerations of the HostedCluster.
	PodUnschedulableReason = "PodUnschedulable"
	// VolumeNotReadyReason: a volume does not exist or is not attached to the node. The message contains the reason.
	// Often the storage class of spec.etcd.managed.storage does not exist.
	VolumeNotReadyReason = "VolumeNotReady"
	// PodsRefusedReason: the management cluster refuses to create pods, because of a quota or an admission rule. The
	// message names it. Raise the quota or change the rule.
	PodsRefusedReason = "PodsRefused"
	// PodsNotReadyReason: pods run but are not ready, or there are too few of them, and neither events nor the status
	// of the pods give a reason. Read their logs if this persists.
	PodsNotReadyReason = "PodsNotReady"
	// ComponentsDegradedReason: more than one component of the control plane is degraded. See the conditions of each
	// ControlPlaneComponent.
	ComponentsDegradedReason = "ComponentsDegraded"
)

package v1beta1

// Reasons of the conditions of a ControlPlaneComponent, and of Degraded of the HostedControlPlane. Messages contain
// the status of the pods.
const (
	// ImageNotPulledReason: an image cannot be pulled. Check the registry, the pull secret, and the installation's registry
	// overrides.
	ImageNotPulledReason = "ImageNotPulled"
	// ContainerNotStartedReason: the node cannot start a container.
	ContainerNotStartedReason = "ContainerNotStarted"
	// ContainerCrashedReason: a container exits soon after its start. The message has the last lines of its log.
	ContainerCrashedReason = "ContainerCrashed"
	// PodUnschedulableReason: no node of the management cluster fits a pod. Add nodes, or change spec.nodeSelector and
	// spec.tolerations of the HostedCluster.
	PodUnschedulableReason = "PodUnschedulable"
	// VolumeNotReadyReason: a volume does not exist or is not attached to the node. Often the storage class of
	// spec.etcd.managed.storage does not exist.
	VolumeNotReadyReason = "VolumeNotReady"
	// PodsRefusedReason: a quota or an admission rule of the management cluster refuses pods. Raise the quota or change the rule.
	PodsRefusedReason = "PodsRefused"
	// PodsNotReadyReason: pods are missing or not ready, without a known reason. Read their logs if this persists.
	PodsNotReadyReason = "PodsNotReady"
	// ComponentsDegradedReason: more than one component is degraded. See the conditions of each ControlPlaneComponent.
	ComponentsDegradedReason = "ComponentsDegraded"
)

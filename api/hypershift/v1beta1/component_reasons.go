package v1beta1

// Reasons of the conditions of a ControlPlaneComponent, and of Degraded of the HostedControlPlane, beside those in
// controlplanecomponent_types.go. Messages have the words of the pods themselves.
const (
	// ImageNotPulledReason: an image cannot be pulled. Compare the image that the message names with the registry, with the pull
	// secret, and with the registry overrides of the installation.
	ImageNotPulledReason = "ImageNotPulled"
	// ContainerNotStartedReason: the node cannot start a container. The message says what it lacks.
	ContainerNotStartedReason = "ContainerNotStarted"
	// ContainerCrashedReason: a program ends soon after it starts. The message has what it said last; see its log for more.
	ContainerCrashedReason = "ContainerCrashed"
	// PodUnschedulableReason: no node of the management cluster takes a pod. The message names what they lack: add nodes, or
	// change spec.nodeSelector and spec.tolerations of the HostedCluster.
	PodUnschedulableReason = "PodUnschedulable"
	// VolumeNotReadyReason: a volume is not there, or not on the node. The message says why; often the storage class of
	// spec.etcd.managed.storage does not exist.
	VolumeNotReadyReason = "VolumeNotReady"
	// PodsRefusedReason: the management cluster does not let pods be made, for a quota or an admission rule that the message
	// names.
	PodsRefusedReason = "PodsRefused"
	// PodsNotReadyReason: pods run and are not ready, or there are fewer than there should be, and nobody says why. See their
	// logs if it stays.
	PodsNotReadyReason = "PodsNotReady"
	// ComponentsDegradedReason: more than one part of the control plane is in trouble. Each has a ControlPlaneComponent that
	// says more.
	ComponentsDegradedReason = "ComponentsDegraded"
)

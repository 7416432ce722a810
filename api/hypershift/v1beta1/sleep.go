package v1beta1

// Reasons of Asleep, and of conditions that cannot be True while the cluster sleeps.
const (
	// AsleepReason: the cluster sleeps. Set annotation hypershift.openshift.io/sleep of the HostedCluster to "false" to wake it.
	AsleepReason = "Asleep"
	// FallingAsleepReason: machines are being drained and deleted, or pods of the control plane end. The message names them.
	FallingAsleepReason = "FallingAsleep"
	// WakingReason: the control plane starts.
	WakingReason = "Waking"
	// AwakeReason: the cluster is awake.
	AwakeReason = "Awake"
	// InvalidSleepReason: an annotation about sleep has a value that cannot be used, and the cluster stays as it is, asleep or
	// awake. Correct the annotation that the message names.
	InvalidSleepReason = "InvalidSleep"
)

// A SleepPhase is the value of SleepPhaseAnnotation.
type SleepPhase string

const (
	// SleepPhaseAwake: the control plane runs.
	SleepPhaseAwake SleepPhase = ""
	// SleepPhaseRemovingMachines: the control plane runs while the machines of NodePools are drained and deleted.
	SleepPhaseRemovingMachines SleepPhase = "RemovingMachines"
	// SleepPhaseAsleep: the control plane has no pods, or is losing them.
	SleepPhaseAsleep SleepPhase = "Asleep"
	// SleepPhaseWaking: the control plane starts.
	SleepPhaseWaking SleepPhase = "Waking"
)

// SleepPhase returns the phase that the hypershift-operator has recorded. A nil HostedControlPlane is awake.
func (in *HostedControlPlane) SleepPhase() SleepPhase {
	if in == nil {
		return SleepPhaseAwake
	}
	return SleepPhase(in.Annotations[SleepPhaseAnnotation])
}

// Sleeps reports whether the control plane is to have no pods.
func (in *HostedControlPlane) Sleeps() bool { return in.SleepPhase() == SleepPhaseAsleep }

// Package sleep decides when a hosted cluster sleeps. It is a pure function of annotations, the time, and the phase that is
// recorded on the HostedControlPlane:
//
//	awake ──► RemovingMachines ──► Asleep ──► Waking ──► awake
//	  └────── without machines ──────┘ └─────────────┘
//
// RemovingMachines ends when no machine is left, and Waking when the API server is ready. A cluster that has never been up does
// not fall asleep.
package sleep

import (
	"fmt"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Facts are the inputs of a decision.
type Facts struct {
	// Annotations are those of the HostedCluster.
	Annotations map[string]string
	Now         time.Time
	// Phase is the recorded phase.
	Phase hyperv1.SleepPhase
	// Initialized is whether the cluster has ever been up, and Ready whether its API server is.
	Initialized, Ready bool
	// Machines is whether NodePools have machines.
	Machines bool
	// Restore is whether the control plane has to stop so that etcd begins with a backup. It is asleep until then, with its machines.
	Restore bool
}

// A State is the result.
type State struct {
	// Phase is to be recorded.
	Phase hyperv1.SleepPhase
	// Configured is whether the user has annotated the cluster, so that it has the condition Asleep.
	Configured bool
	// Wanted is whether the cluster is to sleep, now or as soon as it can.
	Wanted bool
	// Restore is whether it stops for a restore of etcd, and starts again by itself.
	Restore bool
	// Fault is why an annotation cannot be used, empty if all can. The cluster stays as it is.
	Fault string
	// Remaining is when to decide again without a change, 0 for never.
	Remaining time.Duration
}

// machinesInterval is the interval of checks whether the last machine is gone, which is not watched.
const machinesInterval = 10 * time.Second

// Decide returns the state.
func Decide(f Facts) State {
	s := State{Configured: f.Annotations[hyperv1.SleepAnnotation] != "" || f.Annotations[hyperv1.SleepScheduleAnnotation] != ""}
	s.Wanted, s.Remaining, s.Fault = wanted(f)
	s.Wanted, s.Restore = s.Wanted || f.Restore, f.Restore
	s.Phase = next(f, s.Wanted)
	if s.Phase == hyperv1.SleepPhaseRemovingMachines && (s.Remaining == 0 || s.Remaining > machinesInterval) {
		s.Remaining = machinesInterval
	}
	return s
}

// wanted reports whether the user wants the cluster to sleep.
func wanted(f Facts) (asleep bool, remaining time.Duration, fault string) {
	asIs := f.Phase == hyperv1.SleepPhaseRemovingMachines || f.Phase == hyperv1.SleepPhaseAsleep
	for _, annotation := range []string{hyperv1.SleepMachinesAnnotation, hyperv1.SleepLoadBalancersAnnotation, hyperv1.SleepEtcdAnnotation} {
		switch value := f.Annotations[annotation]; value {
		case "", hyperv1.SleepKeep, hyperv1.SleepDelete:
		default:
			fault = fmt.Sprintf("annotation %s is %q: write %s or %s", annotation, value, hyperv1.SleepKeep, hyperv1.SleepDelete)
		}
	}
	switch value := f.Annotations[hyperv1.SleepAnnotation]; value {
	case "false":
		return false, 0, fault
	case "true":
		return asIs || fault == "", 0, fault
	case "":
	default:
		return asIs, 0, fmt.Sprintf(`annotation %s is %q: write "true" or "false", or remove it`, hyperv1.SleepAnnotation, value)
	}
	text := f.Annotations[hyperv1.SleepScheduleAnnotation]
	if text == "" {
		return false, 0, fault
	}
	schedule, err := ParseSchedule(text)
	if err != nil {
		return asIs, 0, fmt.Sprintf("annotation %s is %q: %v", hyperv1.SleepScheduleAnnotation, text, err)
	}
	asleep, remaining = schedule.At(f.Now)
	if fault != "" {
		asleep = asleep && asIs // a value that cannot be used does not keep the cluster from waking
	}
	return asleep, remaining, fault
}

// next returns the phase that follows.
func next(f Facts, wanted bool) hyperv1.SleepPhase {
	switch {
	case wanted && f.Phase == hyperv1.SleepPhaseAsleep:
		return f.Phase // machines of a NodePool that is new meanwhile are created after the sleep
	case f.Restore:
		return hyperv1.SleepPhaseAsleep
	case wanted && !f.Initialized:
		return hyperv1.SleepPhaseAwake
	case wanted && f.Machines && f.Annotations[hyperv1.SleepMachinesAnnotation] == hyperv1.SleepDelete:
		return hyperv1.SleepPhaseRemovingMachines
	case wanted:
		return hyperv1.SleepPhaseAsleep
	case f.Phase == hyperv1.SleepPhaseAsleep, f.Phase == hyperv1.SleepPhaseWaking && !f.Ready:
		return hyperv1.SleepPhaseWaking
	}
	return hyperv1.SleepPhaseAwake
}

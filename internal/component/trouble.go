package component

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// trouble is what keeps pods from getting ready: a reason, and a sentence that
// is the same as long as the trouble is. Without a reason there is none, but
// that it takes time.
type trouble struct{ reason, message string }

// Trouble says what keeps a pod from getting ready, in a sentence that is the
// same as long as it is so; empty if its status does not show any.
func Trouble(pod *corev1.Pod) string { return troubleOf(pod).message }

// troubleOf reads the status of one pod, in the order in which things have to
// go well.
func troubleOf(pod *corev1.Pod) trouble {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return trouble{hyperv1.PodUnschedulableReason, "no node takes a pod: " + unschedulable(c.Message)}
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := troubleIn(s); t.reason != "" {
			return t
		}
	}
	return trouble{}
}

func troubleIn(s corev1.ContainerStatus) trouble {
	if s.Ready || s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 {
		return trouble{}
	}
	if w := s.State.Waiting; w != nil {
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
			return trouble{hyperv1.ImageNotPulledReason, fmt.Sprintf("image %s of container %s cannot be pulled%s", s.Image, s.Name, behind(pullError(w.Message)))}
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return trouble{hyperv1.ContainerNotStartedReason, fmt.Sprintf("container %s cannot be started%s", s.Name, behind(w.Message))}
		}
	}
	// Between two attempts it may run, or be about to: its last word counts.
	last := s.LastTerminationState.Terminated
	if s.State.Terminated != nil {
		last = s.State.Terminated
	}
	if last == nil || last.ExitCode == 0 {
		return trouble{}
	}
	return trouble{hyperv1.ContainerCrashedReason, fmt.Sprintf("container %s %s", s.Name, ended(last))}
}

// ended says how a program ended.
func ended(last *corev1.ContainerStateTerminated) string {
	if last.Reason == "OOMKilled" {
		return "is killed for the memory that it takes"
	}
	return fmt.Sprintf("ends with exit code %d%s", last.ExitCode, behind(lastWord(last.Message)))
}

// behind puts words behind a sentence, if there are any.
func behind(words string) string {
	if words = strings.TrimSpace(words); words == "" {
		return ""
	}
	return ": " + shortened(words)
}

// longest is how much of somebody's words we repeat.
const longest = 300

func shortened(words string) string {
	if runes := []rune(words); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return words
}

// pullError is what the registry said. A kubelet alternates between that and
// the same with a preface.
func pullError(message string) string {
	if _, said, ok := strings.Cut(message, "ErrImagePull: "); ok {
		return said
	}
	if strings.HasPrefix(message, "Back-off pulling image") {
		return ""
	}
	return message
}

// klogHeader is severity, time, process and line of a log of Kubernetes.
var klogHeader = regexp.MustCompile(`^[IWEF]\d{4} \d{2}:\d{2}:\d{2}\.\d+ +\d+ \S+\] `)

// lastWord is the last line of a log that says something, without its times.
// Programs of Kubernetes say there why they end.
func lastWord(log string) string {
	lines := strings.Split(log, "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if said := fromJSON(line); said != "" {
			return said
		}
		return strings.TrimSpace(klogHeader.ReplaceAllString(line, ""))
	}
	return ""
}

// fromJSON is what a line of etcd's log says.
func fromJSON(line string) string {
	var entry struct{ Msg, Error string }
	if json.Unmarshal([]byte(line), &entry) != nil {
		return ""
	}
	return strings.TrimSuffix(entry.Msg+": "+entry.Error, ": ")
}

// counts are how many nodes have which fault.
var counts = regexp.MustCompile(`^\d+ `)

// unschedulable are the faults of the nodes, each once, without how many have it:
// nodes come and go.
func unschedulable(message string) string {
	_, faults, ok := strings.Cut(message, "nodes are available: ")
	if !ok {
		return shortened(message)
	}
	faults, _, _ = strings.Cut(faults, ". ") // what preemption would do about it
	var each []string
	for fault := range strings.SplitSeq(strings.TrimRight(faults, "."), ", ") {
		each = append(each, counts.ReplaceAllString(fault, ""))
	}
	slices.Sort(each)
	return strings.Join(slices.Compact(each), ", ")
}

package component

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

// problem is why pods do not become ready: a reason, and a sentence that does not change while the cause does not. Without a
// reason there is no failure, and it only takes time.
type problem struct{ reason, message string }

// PodProblem returns why a pod does not become ready, in a sentence that does not change while the cause does not, or "" if its
// status shows no problem.
func PodProblem(pod *corev1.Pod) string { return problemOf(pod).message }

// problemOf reads the status of one pod, in the order in which a pod starts.
func problemOf(pod *corev1.Pod) problem {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return problem{hyperv1.PodUnschedulableReason, "no node takes a pod: " + unschedulable(c.Message)}
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := containerProblem(s); t.reason != "" {
			return t
		}
	}
	return problem{}
}

func containerProblem(s corev1.ContainerStatus) problem {
	if s.Ready || s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 {
		return problem{}
	}
	if w := s.State.Waiting; w != nil {
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
			return problem{hyperv1.ImageNotPulledReason, fmt.Sprintf("image %s of container %s cannot be pulled%s", s.Image, s.Name, suffixed(pullError(w.Message)))}
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return problem{hyperv1.ContainerNotStartedReason, fmt.Sprintf("container %s cannot be started%s", s.Name, suffixed(w.Message))}
		}
	}
	// Between two attempts it may run, or be about to: the last termination counts.
	last := s.LastTerminationState.Terminated
	if s.State.Terminated != nil {
		last = s.State.Terminated
	}
	if last == nil || last.ExitCode == 0 {
		return problem{}
	}
	return problem{hyperv1.ContainerCrashedReason, fmt.Sprintf("container %s %s", s.Name, ended(last))}
}

// ended describes how a program terminated.
func ended(last *corev1.ContainerStateTerminated) string {
	if last.Reason == "OOMKilled" {
		return "is killed for the memory that it takes"
	}
	return fmt.Sprintf("ends with exit code %d%s", last.ExitCode, suffixed(lastWord(last.Message)))
}

// suffixed appends a text to a sentence, if there is one.
func suffixed(words string) string {
	if words = strings.TrimSpace(words); words == "" {
		return ""
	}
	return ": " + shortened(words)
}

// longest is the maximum length of a quoted message.
const longest = 300

// shortened returns a text for a condition. A program may log its users' input, such as escape sequences of a terminal.
func shortened(words string) string {
	words = oneline.Of(words)
	if runes := []rune(words); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return words
}

// pullError matches the error of the registry. A kubelet alternates between the error alone and with a prefix.
func pullError(message string) string {
	if _, cause, ok := strings.Cut(message, "ErrImagePull: "); ok {
		return cause
	}
	if strings.HasPrefix(message, "Back-off pulling image") {
		return ""
	}
	return message
}

// klogHeader matches severity, time, process and line in a log of Kubernetes.
var klogHeader = regexp.MustCompile(`^[IWEF]\d{4} \d{2}:\d{2}:\d{2}\.\d+ +\d+ \S+\] `)

// lastWord returns the last line of a log with a message, without its time. Programs of Kubernetes log there why they
// terminate.
func lastWord(log string) string {
	lines := strings.Split(log, "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if text := fromJSON(line); text != "" {
			return text
		}
		return strings.TrimSpace(klogHeader.ReplaceAllString(line, ""))
	}
	return ""
}

// fromJSON returns the message in a log line of etcd.
func fromJSON(line string) string {
	var entry struct{ Msg, Error string }
	if json.Unmarshal([]byte(line), &entry) != nil {
		return ""
	}
	return strings.TrimSuffix(entry.Msg+": "+entry.Error, ": ")
}

// counts matches the number of nodes with a cause.
var counts = regexp.MustCompile(`^\d+ `)

// unschedulable returns the distinct causes without the numbers of nodes, which change often.
func unschedulable(message string) string {
	_, faults, ok := strings.Cut(message, "nodes are available: ")
	if !ok {
		return shortened(message)
	}
	faults, _, _ = strings.Cut(faults, ". ") // the result of preemption
	var each []string
	for fault := range strings.SplitSeq(strings.TrimRight(faults, "."), ", ") {
		each = append(each, counts.ReplaceAllString(fault, ""))
	}
	slices.Sort(each)
	return shortened(strings.Join(slices.Compact(each), ", "))
}

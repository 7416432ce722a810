package component

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "main", Image: "example.test/main:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ending(code int32, reason, message string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}
}

func TestProblemOfAPod(t *testing.T) {
	crashing := waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=main pod=main-7d9f")
	crashing.LastTerminationState.Terminated = ending(1, "Error", "starting\nI1120 17:23:59.123456       1 server.go:1] serving\nF1120 17:24:00.5       1 main.go:9] no such file\n\n")
	running := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	again := running
	again.LastTerminationState.Terminated = ending(2, "Error", `{"level":"fatal","ts":"2026-01-02T03:04:05Z","caller":"etcdmain/etcd.go:1","msg":"discovery failed","error":"member count is unequal"}`)
	killed := running
	killed.LastTerminationState.Terminated = ending(137, "OOMKilled", "")
	well := running
	well.Ready = true
	well.LastTerminationState.Terminated = ending(1, "Error", "once")
	done := corev1.ContainerStatus{Name: "init", State: corev1.ContainerState{Terminated: ending(0, "Completed", "")}, LastTerminationState: corev1.ContainerState{Terminated: ending(1, "Error", "once")}}

	for name, tc := range map[string]struct {
		status          corev1.PodStatus
		reason, message string
	}{
		"a pod that starts is in no problem": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ContainerCreating", "")}}, "", ""},
		"no node has room": {
			corev1.PodStatus{Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				Message: "0/5 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {gpu: }, 2 node(s) had untolerated taint {gpu: }. no new claims to deallocate, preemption: 0/5 nodes are available.",
			}}},
			hyperv1.PodUnschedulableReason, "no node takes a pod: Insufficient cpu, node(s) had untolerated taint {gpu: }",
		},
		"the registry refuses": {
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ErrImagePull", "unauthorized")}},
			hyperv1.ImageNotPulledReason, "image example.test/main:1 of container main cannot be pulled: unauthorized",
		},
		"the registry is left alone for a while": {
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ImagePullBackOff", `Back-off pulling image "example.test/main:1": ErrImagePull: unauthorized`)}},
			hyperv1.ImageNotPulledReason, "image example.test/main:1 of container main cannot be pulled: unauthorized",
		},
		"an older kubelet does not say why": {
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ImagePullBackOff", `Back-off pulling image "example.test/main:1"`)}},
			hyperv1.ImageNotPulledReason, "image example.test/main:1 of container main cannot be pulled",
		},
		"a key is missing": {
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("CreateContainerConfigError", `secret "aws" not found`)}},
			hyperv1.ContainerNotStartedReason, `container main cannot be started: secret "aws" not found`,
		},
		"a program ends":                        {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{crashing}}, hyperv1.ContainerCrashedReason, "container main ends with exit code 1: no such file"},
		"a program ended, and runs again":       {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{again}}, hyperv1.ContainerCrashedReason, "container main ends with exit code 2: discovery failed: member count is unequal"},
		"a program takes too much":              {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{killed}}, hyperv1.ContainerCrashedReason, "container main is killed for the memory that it takes"},
		"a program ended once, and is well now": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{well}}, "", ""},
		"what came first is done":               {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{done}, ContainerStatuses: []corev1.ContainerStatus{waiting("PodInitializing", "")}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := problemOf(&corev1.Pod{Status: tc.status}); got.reason != tc.reason || got.message != tc.message {
				t.Errorf("got %q: %q", got.reason, got.message)
			}
		})
	}
}

func TestLongMessagesAreShortened(t *testing.T) {
	if got := suffixed(strings.Repeat("é", longest+1)); got != ": "+strings.Repeat("é", longest)+"…" {
		t.Errorf("got %d bytes", len(got))
	}
}

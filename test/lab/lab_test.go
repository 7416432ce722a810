//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/host"
)

// A lab starts, runs a pod with a volume, is found by a second up, and leaves no trace, even after a crash.
func TestLabLeavesNothing(t *testing.T) {
	if missing := cluster.Missing(t.Context(), cluster.Options{}); len(missing) > 0 {
		t.Skipf("this host cannot have a lab; it lacks\n  %s", strings.Join(missing, "\n  "))
	}
	if os.Getenv("USE_EXISTING_CLUSTER") == "true" {
		t.Skip("an existing cluster must not be taken down")
	}
	if _, err := net.InterfaceByName("hypershift-lab"); err == nil {
		t.Skip("a lab runs on this host, and only one is possible")
	}
	// Not t.TempDir(): the path of a socket must be short.
	dir, err := os.MkdirTemp("", "lab-")
	if err != nil {
		t.Fatal(err)
	}
	before := lookAround(t, dir)
	o := cluster.Options{Dir: dir, Machines: 1, MemoryMiB: 1024, Progress: t.Output()}
	t.Cleanup(func() { // also after a failure
		if err := cluster.Down(context.WithoutCancel(t.Context()), o); err != nil {
			t.Error(err)
		}
	})

	lab, err := cluster.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := runPod(t, lab); got != "hello from a volume\n" {
		t.Errorf("the log of the pod is %q", got)
	}
	pid := supervisorOf(t, dir)
	if _, err := cluster.Up(t.Context(), o); err != nil {
		t.Errorf("up, a second time: %v", err)
	}
	if again := supervisorOf(t, dir); again != pid {
		t.Errorf("supervisor %d was replaced by %d", pid, again)
	}

	// A crash while everything runs.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Down(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, d := range host.Differences(before, lookAround(t, dir)) {
		t.Error(d)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s still exists", dir)
	}
}

// runPod runs a pod that writes to a volume and reads it, and returns its log.
func runPod(t *testing.T, lab *cluster.Lab) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := kubernetes.NewForConfig(lab.Config)
	if err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "disk"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
		},
	}
	if _, err := client.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	_, err = pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "hello", Image: lab.Images["busybox"],
				Command:      []string{"/bin/sh", "-c", "echo hello from a volume >/disk/hello && cat /disk/hello"},
				VolumeMounts: []corev1.VolumeMount{{Name: "disk", MountPath: "/disk"}},
			}},
			Volumes: []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := pods.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: "hello"}))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || pod.Status.Phase == corev1.PodFailed {
			t.Fatalf("the pod failed: %+v", event.Object)
		}
		if pod.Status.Phase == corev1.PodSucceeded {
			log, err := pods.GetLogs("hello", &corev1.PodLogOptions{}).DoRaw(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return string(log)
		}
	}
	t.Fatalf("the pod did not end: %v", context.Cause(ctx))
	return ""
}

func supervisorOf(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "lab.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	return state.PID
}

func lookAround(t *testing.T, dir string) host.Host {
	t.Helper()
	seen, err := host.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

package components_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// controllers returns the objects and the containers of kube-controller-manager and of those in its pods.
func controllers(t *testing.T, env *target.ControlPlane) (objs []client.Object, containers map[string][]string) {
	t.Helper()
	containers = map[string][]string{}
	for _, c := range component.RenderAll(env, components.ControlPlane...) {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		if c.Name == names.KubeControllerManager || c.Host == names.KubeControllerManager {
			objs, containers[c.Name] = append(objs, c.Objects...), c.Containers
		}
	}
	return objs, containers
}

// The controllers of a cluster with nodes share a pod. Each mounts its own volumes.
func TestControllersShareAPod(t *testing.T) {
	available := targettest.Env()
	available.HCP.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	objs, _ := controllers(t, available)
	componenttest.Objects(t, "controllers-highly-available", objs)
	objs, containers := controllers(t, targettest.Env())
	componenttest.Objects(t, "controllers", objs)
	want := map[string][]string{
		names.KubeControllerManager:  {"wait-for-kube-apiserver", "kube-controller-manager"},
		names.KubeScheduler:          {"kube-scheduler"},
		names.CloudControllerManager: {"token-minter", "aws-cloud-controller-manager"},
		names.EBSCSIController:       {"aws-ebs-csi-driver-controller-token-minter", "ebs-plugin", "csi-provisioner", "csi-attacher", "csi-resizer", "liveness-probe"},
	}
	if d := cmp.Diff(want, containers); d != "" {
		t.Errorf("containers (-want +got):\n%s", d)
	}
	// A file that one component writes must not reach another.
	mountedBy := map[string]string{}
	pod := component.AsWorkload(workloadOf(t, objs)).Pod()
	for name, own := range containers {
		for _, container := range own {
			for _, m := range component.Container(pod, container).VolumeMounts {
				if other := mountedBy[m.Name]; other != "" && other != name {
					t.Errorf("%s and %s mount volume %s", other, name, m.Name)
				}
				mountedBy[m.Name] = name
			}
		}
	}
	if len(mountedBy) != len(pod.Volumes) {
		t.Errorf("%d volumes are mounted, and the pod has %d", len(mountedBy), len(pod.Volumes))
	}
}

// workloadOf returns the only workload among the objects.
func workloadOf(t *testing.T, objs []client.Object) client.Object {
	t.Helper()
	i := slices.IndexFunc(objs, func(obj client.Object) bool { return component.AsWorkload(obj) != nil })
	if i < 0 || slices.ContainsFunc(objs[i+1:], func(obj client.Object) bool { return component.AsWorkload(obj) != nil }) {
		t.Fatal("there is not one workload")
	}
	return objs[i]
}

// A change of the key of service account tokens restarts kube-controller-manager, which reads it once, although the token minters in the same
// pods follow it.
func TestWhatOneControllerFollowsRestartsAnother(t *testing.T) {
	contents := func(key string) map[string]string {
		env := withCertificates(false, "old")
		env.Secrets[names.ServiceAccountSigningKey].Data[names.ServiceAccountPrivateKeyFile] = []byte(key)
		objs, _ := controllers(t, env)
		return component.AsWorkload(workloadOf(t, objs)).Template.Annotations
	}
	const hash = "hypershift.openshift.io/contents"
	before, after := contents("one"), contents("two")
	for annotation, restarts := range map[string]bool{hash: true, hash + "." + names.CloudControllerManager: false, hash + "." + names.EBSCSIController: false} {
		if before[annotation] == "" || (before[annotation] != after[annotation]) != restarts {
			t.Errorf("%s was %q and is %q", annotation, before[annotation], after[annotation])
		}
	}
}

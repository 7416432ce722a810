package component

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func mount(name string, readOnly bool) []corev1.VolumeMount {
	return []corev1.VolumeMount{{Name: name, MountPath: "/" + name, ReadOnly: readOnly}}
}

// waiter waits for a file, and maker makes one.
func waiter() corev1.Container {
	return corev1.Container{Name: "wait", Image: "tools", Args: []string{"--kubeconfig=/config/kubeconfig"}, VolumeMounts: mount("config", true)}
}

func maker() corev1.Container {
	return corev1.Container{Name: "maker", Image: "tools", VolumeMounts: mount("data", false)}
}

func minter() corev1.Container {
	return corev1.Container{Name: "minter", Image: "tools", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), VolumeMounts: mount("config", true)}
}

func template(main string, init ...corev1.Container) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"example.com/contents": main}},
		Spec: corev1.PodSpec{
			InitContainers: init, Containers: []corev1.Container{{Name: main, VolumeMounts: mount("config", true)}},
			Volumes: []corev1.Volume{{Name: "config"}, {Name: "data"}},
		},
	}
}

func TestContainersJoinOtherPods(t *testing.T) {
	host, guest := template("manager", waiter(), maker(), minter()), template("scheduler", maker(), minter())
	guest.Spec.Containers = append(guest.Spec.Containers, corev1.Container{Name: "manager"})
	own, err := join(host, guest, "scheduler")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"scheduler-maker", "scheduler-minter", "scheduler", "scheduler-manager"}, own); d != "" {
		t.Errorf("its containers (-want +got):\n%s", d)
	}
	want := []string{"wait", "maker", "minter", "scheduler-maker", "scheduler-minter", "manager", "scheduler", "scheduler-manager"}
	if d := cmp.Diff(want, containersOf(&host.Spec)); d != "" {
		t.Errorf("all containers (-want +got):\n%s", d)
	}
	var volumes []string
	for _, v := range host.Spec.Volumes {
		volumes = append(volumes, v.Name)
	}
	if d := cmp.Diff([]string{"config", "data", "scheduler-config", "scheduler-data"}, volumes); d != "" {
		t.Errorf("volumes (-want +got):\n%s", d)
	}
	if got := Container(&host.Spec, "scheduler").VolumeMounts[0].Name + " " + Container(&host.Spec, "manager").VolumeMounts[0].Name; got != "scheduler-config config" {
		t.Errorf("they mount %s", got)
	}
	if d := cmp.Diff(map[string]string{"example.com/contents": "manager", "example.com/contents.scheduler": "scheduler"}, host.Annotations); d != "" {
		t.Errorf("annotations (-want +got):\n%s", d)
	}
}

func TestSettingsOfPodsAreNotLost(t *testing.T) {
	guest := template("scheduler")
	guest.Spec.HostNetwork = true
	if _, err := join(template("manager"), guest, "scheduler"); err == nil || !strings.Contains(err.Error(), "other fields than containers and volumes") {
		t.Errorf("got %v", err)
	}
}

// shared is a Deployment with two components in its pods, manager and scheduler.
func shared() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: object("manager"), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "manager"}}, Template: *template("manager", waiter()),
	}}
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "scheduler"})
	d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	return d
}

// podOf is a pod of the Deployment in which these containers are ready. The others have crashed.
func podOf(d *appsv1.Deployment, isReady bool, containers ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: object("manager-1"), Spec: d.Spec.Template.Spec}
	pod.Labels, pod.Spec.NodeName = map[string]string{"app": "manager"}, "node"
	if isReady {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	status := func(name string) corev1.ContainerStatus {
		if slices.Contains(containers, name) {
			return corev1.ContainerStatus{Name: name, Ready: true}
		}
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "no rights"}}}
	}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "wait", Ready: true}}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status(c.Name))
	}
	return pod
}

// A program that fails does not make the other program of its pod unavailable, and is the only one that is reported.
func TestComponentsOfOnePodAreReportedApart(t *testing.T) {
	former := shared()
	former.Spec.Template = *template("manager", waiter())
	for what, tc := range map[string]struct {
		live                     *appsv1.Deployment
		ready                    bool
		containers               []string
		manager, scheduler       bool // whether it is available
		managerSays, schedulerIs string
	}{
		"both are ready":              {shared(), true, []string{"manager", "scheduler"}, true, true, "", ""},
		"the scheduler has crashed":   {shared(), false, []string{"manager"}, true, false, "", "container scheduler ends with exit code 1: no rights"},
		"the manager has crashed":     {shared(), false, []string{"scheduler"}, false, true, "container manager ends with exit code 1: no rights", ""},
		"their node is lost":          {shared(), false, []string{"manager", "scheduler"}, false, false, "", ""},
		"the scheduler is not in yet": {former, true, []string{"manager"}, true, false, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			r := runner(interceptor.Funcs{}, tc.live, podOf(tc.live, tc.ready, tc.containers...))
			for name, want := range map[string]struct {
				available bool
				says      string
			}{"manager": {tc.manager, tc.managerSays}, "scheduler": {tc.scheduler, tc.schedulerIs}} {
				own := []string{name}
				if name == "manager" {
					own = []string{"wait", "manager"}
				}
				p := &part{Rendered: Rendered{Name: name, Workload: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "manager"}}, Containers: own}}
				if err := r.read(t.Context(), ControlPlane{HCP: &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}}, p); err != nil {
					t.Fatal(err)
				}
				got, err := r.problem(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				if p.available != want.available || p.complete != want.available || got.message != want.says {
					t.Errorf("%s: available %t, complete %t, %q", name, p.available, p.complete, got.message)
				}
			}
		})
	}
}

// A component that joins the pods of another is available only when new pods have it.
func TestAGuestWaitsForItsHost(t *testing.T) {
	live := shared()
	live.Spec.Template = *template("manager", waiter())
	r := runner(interceptor.Funcs{}, live, podOf(live, true, "manager"))
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", UID: "1"}}
	desired := shared()
	desired.ResourceVersion, desired.UID, desired.CreationTimestamp = "", "", metav1.Time{}
	desired.Status = appsv1.DeploymentStatus{}
	states, err := r.Ensure(t.Context(), ControlPlane{HCP: hcp, Version: "1", Components: []Rendered{
		{Name: "scheduler", Host: "manager", Workload: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "manager"}}, Containers: []string{"scheduler"}},
		{Name: "manager", Workload: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "manager"}}, Containers: []string{"wait", "manager"}, Objects: []client.Object{desired}},
	}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if states[0].Available || states[0].RolledOut || !states[1].Available {
		t.Errorf("%+v", states)
	}
}

// Pods that start with a former object that they mount would not be restarted when the object is written.
func TestSharedPodsWaitForAllObjects(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", UID: "1"}}
	failing := true
	var applied []string
	r := runner(interceptor.Funcs{Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
		text, err := json.Marshal(obj)
		if err != nil {
			return err
		}
		var named struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := json.Unmarshal(text, &named); err != nil {
			return err
		}
		if failing && named.Kind == "ConfigMap" {
			return errors.New("no answer")
		}
		applied = append(applied, named.Kind+" "+named.Metadata.Name)
		return c.Apply(ctx, obj, opts...)
	}})
	empty := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "manager"}}
	ensure := func() ([]State, error) {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler"}}
		desired := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manager"}, Spec: shared().Spec}
		return r.Ensure(t.Context(), ControlPlane{HCP: hcp, Version: "1", Components: []Rendered{
			{Name: "manager", Workload: empty, Containers: []string{"wait", "manager"}, Objects: []client.Object{desired}},
			{Name: "scheduler", Host: "manager", Workload: empty, Containers: []string{"scheduler"}, Objects: []client.Object{config}},
		}}, false)
	}
	states, err := ensure()
	if err == nil || slices.Contains(applied, "Deployment manager") {
		t.Errorf("%v after %v", err, applied)
	}
	if !states[0].Degraded || !strings.Contains(states[0].Message, "scheduler, in the same pods: ") {
		t.Errorf("%+v", states[0])
	}
	failing = false
	if _, err := ensure(); err != nil {
		t.Fatal(err)
	}
	if i, j := slices.Index(applied, "ConfigMap scheduler"), slices.Index(applied, "Deployment manager"); i < 0 || j < i {
		t.Errorf("applied %v", applied)
	}
}

// While the init container of the pod waits, a former warning about the pod is no problem.
func TestAGuestThatWaitsIsNotDegraded(t *testing.T) {
	d := shared()
	pod := podOf(d, false)
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "wait", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	}
	r := runner(interceptor.Funcs{}, d, pod, event(pod, "Warning", "FailedMount", "not yet"))
	p := &part{Rendered: Rendered{Name: "scheduler", Containers: []string{"scheduler"}}, observation: evaluate(d)}
	if got, err := r.problem(t.Context(), p); err != nil || got.reason != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

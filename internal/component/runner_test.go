package component

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const namespace = "clusters-demo"

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}

func runner(funcs interceptor.Funcs, objs ...client.Object) *Runner {
	c := fake.NewClientBuilder().WithScheme(scheme()).WithObjects(objs...).WithInterceptorFuncs(funcs).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string {
			return []string{string(obj.(*corev1.Event).InvolvedObject.UID)}
		}).Build()
	return NewRunner(Options{Client: c, Reader: c, Scheme: scheme(), Clock: clocktesting.NewFakePassiveClock(now), Owner: "test"})
}

func object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))}
}

func member(status corev1.PodStatus) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: object("etcd-0"), Status: status}
	pod.Labels = map[string]string{"app": "etcd"}
	pod.Spec.NodeName = "node"
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-etcd-0"}}}}
	return pod
}

func event(about client.Object, kind, reason, message string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: about.GetName() + reason}, Type: kind, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{UID: about.GetUID()}, LastTimestamp: metav1.NewTime(now),
	}
}

var unbound = corev1.PodStatus{Conditions: []corev1.PodCondition{{
	Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	Message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available",
}}}

var creating = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "etcd", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}}

func TestProblemIsReadFromEvents(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: object("data-etcd-0"), Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
	young := member(creating)
	young.CreationTimestamp = metav1.NewTime(now)
	youngUnbound, youngWithoutClaim := member(unbound), member(unbound)
	youngUnbound.CreationTimestamp, youngWithoutClaim.CreationTimestamp = metav1.NewTime(now), metav1.NewTime(now)
	youngWithoutClaim.Spec.Volumes = nil
	for name, tc := range map[string]struct {
		pod             *corev1.Pod
		others          []client.Object
		reason, message string
	}{
		"the storage class does not exist": {
			member(unbound), []client.Object{claim, event(claim, "Warning", "ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`)},
			hyperv1.VolumeNotReadyReason, `etcd-0: volume claim data-etcd-0 gets no volume: storageclass.storage.k8s.io "fast" not found`,
		},
		"there is no storage class": {
			member(unbound), []client.Object{claim, event(claim, "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set")},
			hyperv1.VolumeNotReadyReason, "etcd-0: volume claim data-etcd-0 gets no volume: no persistent volumes available for this claim and no storage class is set",
		},
		"nobody says why the claim waits": {
			member(unbound), []client.Object{claim},
			hyperv1.PodUnschedulableReason, "etcd-0: no node takes a pod: pod has unbound immediate PersistentVolumeClaims",
		},
		"the volume of a pod that has only begun is being created": {youngUnbound, []client.Object{claim}, "", ""},
		"the volume of a pod that has only begun cannot be created": {
			youngUnbound, []client.Object{claim, event(claim, "Warning", "ProvisioningFailed", "no space")},
			hyperv1.VolumeNotReadyReason, "etcd-0: volume claim data-etcd-0 gets no volume: no space",
		},
		"a pod that has only begun needs no volume": {
			youngWithoutClaim, nil, hyperv1.PodUnschedulableReason, "etcd-0: no node takes a pod: pod has unbound immediate PersistentVolumeClaims",
		},
		"a Secret is not there": {
			member(creating), []client.Object{event(member(creating), "Warning", "FailedMount", `MountVolume.SetUp failed for volume "tls" : secret "etcd-server-tls" not found`)},
			hyperv1.VolumeNotReadyReason, `etcd-0: containers cannot be made: MountVolume.SetUp failed for volume "tls" : secret "etcd-server-tls" not found`,
		},
		"a pod that has only begun is given time": {
			young, []client.Object{event(young, "Warning", "FailedMount", "not yet")}, "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := runner(interceptor.Funcs{}, append(tc.others, tc.pod)...)
			got, err := r.problem(t.Context(), &part{observation: evaluate(statefulSet())})
			if err != nil || got.reason != tc.reason || got.message != tc.message {
				t.Errorf("got %q: %q, %v", got.reason, got.message, err)
			}
		})
	}
}

func TestAComponentExplainsItsTerminationMessage(t *testing.T) {
	explain := func(words string) (reason, message string) {
		if !strings.Contains(words, "nothing on the volume") {
			return "", ""
		}
		return "DataLost", "bring the volume back"
	}
	for words, want := range map[string]problem{
		"there is nothing on the volume": {"DataLost", "etcd-0: bring the volume back"},
		"out of luck":                    {hyperv1.ContainerCrashedReason, "etcd-0: container etcd ends with exit code 1: out of luck"},
	} {
		pod := member(corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "etcd", State: corev1.ContainerState{Terminated: ending(1, "Error", words)}}}})
		if got, err := runner(interceptor.Funcs{}, pod).problem(t.Context(), &part{Rendered: Rendered{Explain: explain}, observation: evaluate(statefulSet())}); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

func statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: object("etcd"), Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "etcd"}},
	}}
}

func TestPodsThatCannotBeCreatedAreReported(t *testing.T) {
	set := statefulSet()
	r := runner(interceptor.Funcs{}, event(set, "Warning", "FailedCreate", "exceeded quota: pods"))
	if got, err := r.problem(t.Context(), &part{observation: evaluate(set)}); err != nil || got != (problem{hyperv1.PodsRefusedReason, "pods cannot be made: exceeded quota: pods"}) {
		t.Errorf("of a StatefulSet: %+v, %v", got, err)
	}
	d := &appsv1.Deployment{ObjectMeta: object("server"), Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: pods"},
	}}}
	if got, err := r.problem(t.Context(), &part{observation: evaluate(d)}); err != nil || got != (problem{hyperv1.PodsRefusedReason, "exceeded quota: pods"}) {
		t.Errorf("of a Deployment: %+v, %v", got, err)
	}
}

func TestEvaluateWorkloadStatus(t *testing.T) {
	deployment := func(generation, observed int64, all, updated, ready int32) client.Object {
		d := &appsv1.Deployment{ObjectMeta: object("server"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}}
		d.Generation = generation
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: observed, Replicas: all, UpdatedReplicas: updated, AvailableReplicas: ready}
		return d
	}
	members := func(current, update string, ready int32) client.Object {
		s := statefulSet()
		s.Status = appsv1.StatefulSetStatus{CurrentRevision: current, UpdateRevision: update, ReadyReplicas: ready}
		return s
	}
	for name, tc := range map[string]struct {
		of                             client.Object
		available, complete, replacing bool
	}{
		"all are there":                     {deployment(1, 1, 2, 2, 2), true, true, false},
		"nobody has looked at the change":   {deployment(2, 1, 2, 2, 2), true, false, true},
		"an old one is left":                {deployment(1, 1, 3, 2, 3), true, false, true},
		"one of two is ready":               {deployment(1, 1, 2, 2, 1), true, false, false},
		"none is":                           {deployment(1, 1, 2, 2, 0), false, false, false},
		"all members vote":                  {members("a", "a", 3), true, true, false},
		"most members vote":                 {members("a", "a", 2), true, false, false},
		"one member of three does not help": {members("a", "a", 1), false, false, false},
		"a member is old":                   {members("a", "b", 3), true, false, true},
	} {
		got := evaluate(tc.of)
		if got.available != tc.available || got.complete != tc.complete || got.replacing != tc.replacing {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A kubelet counts from the first deletion request. Objects that create pods must
// neither delete them with another grace period nor create others. The claims of the pods are deleted before them: no object
// would name the claims later.
func TestPodsAreDeletedWithoutGracePeriod(t *testing.T) {
	labels := map[string]string{ComponentLabel: "server"}
	deployment, replicaSet, pod, going := &appsv1.Deployment{ObjectMeta: object("server")}, &appsv1.ReplicaSet{ObjectMeta: object("server-1")}, member(creating), member(creating)
	pod.Name, going.Name = "server-1-a", "server-1-b"
	going.Finalizers, going.DeletionTimestamp = []string{"example.com/kubelet"}, ptr.To(metav1.NewTime(now))
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: object("data-server-1-a")}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}}
	other := &appsv1.Deployment{ObjectMeta: object("other")}
	for _, obj := range []client.Object{deployment, replicaSet, pod, going} {
		obj.SetLabels(labels)
	}
	var deletions []string
	r := runner(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		o := (&client.DeleteOptions{}).ApplyOptions(opts)
		deletion := obj.GetName()
		if o.PropagationPolicy != nil {
			deletion += " " + string(*o.PropagationPolicy)
		}
		if o.GracePeriodSeconds != nil {
			deletion += " " + (time.Duration(*o.GracePeriodSeconds) * time.Second).String()
		}
		deletions = append(deletions, deletion)
		return c.Delete(ctx, obj)
	}}, deployment, replicaSet, pod, going, claim, other)
	if gone, err := r.end(t.Context(), namespace, "server"); gone || err != nil {
		t.Errorf("gone %v, %v", gone, err)
	}
	if want := []string{"server Orphan", "server-1 Orphan", "data-server-1-a", "server-1-a 1s"}; !slices.Equal(deletions, want) {
		t.Errorf("deletions %v, want %v", deletions, want)
	}
}

package etcdvolumes

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// attachment is the message of the EBS CSI driver for a volume that was deleted: https://github.com/kubernetes-sigs/aws-ebs-csi-driver/issues/1343
const attachment = `AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = Internal desc = Could not get volume with ID "vol-1": InvalidVolume.NotFound: The volume 'vol-1' does not exist.`

// fakeMembers is an etcd of three members, of which the last has not been ready for as long as the others are.
type fakeMembers struct{ *testenv.Env }

func member(name string, ready corev1.ConditionStatus, phase corev1.PodPhase) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: testenv.In(testenv.Namespace, name)}
	pod.Labels, pod.CreationTimestamp, pod.Finalizers = map[string]string{"app": names.Etcd}, metav1.NewTime(testenv.Start), nil
	pod.Status = corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(testenv.Start)}}}
	return pod
}

func claim(name string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: testenv.In(testenv.Namespace, "data-"+name), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pvc-1"}}
	c.Finalizers = []string{"kubernetes.io/pvc-protection"} // it goes with the pod
	c.Status.Phase = phase
	return c
}

func newFakeMembers(t testing.TB, change ...func(*hyperv1.HostedControlPlane)) *fakeMembers {
	hcp := testenv.HostedControlPlane(append([]func(*hyperv1.HostedControlPlane){func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	}}, change...)...)
	e := &fakeMembers{testenv.New(t, testenv.For(hcp, &hyperv1.HostedControlPlaneList{}), testenv.WithEventIndex(),
		testenv.WithKinds(&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}), testenv.WithStatus(&corev1.Pod{}, &corev1.PersistentVolumeClaim{}))}
	e.Start = func() testenv.Pass {
		c := New(Options{Client: e.Client(), Reader: e.Client(), Recorder: e.Events, Clock: e.Clock})
		return e.PassOverKeys(&hyperv1.HostedControlPlaneList{}, func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) { return c.Reconcile(ctx, req) })
	}
	e.Restart()
	return e
}

func (e *fakeMembers) members(third corev1.ConditionStatus, phase corev1.PodPhase, of corev1.PersistentVolumeClaimPhase) {
	e.T.Helper()
	for _, name := range []string{"etcd-0", "etcd-1"} {
		e.Create(member(name, corev1.ConditionTrue, corev1.PodRunning), claim(name, corev1.ClaimBound))
	}
	e.Create(member("etcd-2", third, phase), claim("etcd-2", of))
}

// kept reports whether the third member has its pod and its claim.
func (e *fakeMembers) kept() (pod, volume bool) {
	e.T.Helper()
	c := claim("etcd-2", "")
	volume = e.Exists(c) && c.DeletionTimestamp.IsZero()
	return e.Exists(member("etcd-2", "", "")), volume
}

func (e *fakeMembers) warn(message string) {
	e.T.Helper()
	pod := testenv.Named(e.Env, "etcd-2", &corev1.Pod{})
	e.Create(&corev1.Event{
		ObjectMeta: testenv.In(testenv.Namespace, "etcd-2.1"), Type: corev1.EventTypeWarning, Reason: "FailedAttachVolume", Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, LastTimestamp: metav1.NewTime(testenv.Start),
	})
}

func TestLostVolumeIsReplaced(t *testing.T) {
	for name, given := range map[string]func(*fakeMembers){
		"its PersistentVolume was deleted": func(e *fakeMembers) { e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimLost) },
		"its volume was deleted in EC2": func(e *fakeMembers) {
			e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimBound)
			e.warn(attachment)
		},
		"only its claim was deleted, before a crash": func(e *fakeMembers) {
			e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimLost)
			e.Delete(claim("etcd-2", ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeMembers(t)
			given(e)
			e.Clock.Step(patience - time.Second)
			e.Once()
			if pod, _ := e.kept(); !pod {
				t.Fatal("it is replaced at once")
			}
			e.ExpectRequeue(time.Second)
			e.Clock.Step(time.Second)
			e.Once()
			if pod, volume := e.kept(); pod || volume {
				t.Errorf("it has its pod: %t, its volume: %t", pod, volume)
			}
			if got := strings.Join(e.Events.Drain(), "\n"); !strings.Contains(name, "crash") && !strings.Contains(got, "EtcdVolumeReplaced: etcd-2 gets another volume, and its data from the other members: ") {
				t.Errorf("the events are %q", got)
			}
			for _, other := range []string{"etcd-0", "etcd-1"} {
				if c := claim(other, ""); !e.Exists(c) || !c.DeletionTimestamp.IsZero() {
					t.Errorf("%s has lost its volume", other)
				}
			}
		})
	}
}

func TestMemberThatMayReturnIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hyperv1.HostedControlPlane)
		given  func(*fakeMembers)
	}{
		"its machine is down": {nil, func(e *fakeMembers) { e.members(corev1.ConditionFalse, corev1.PodRunning, corev1.ClaimBound) }},
		"its zone is down": {nil, func(e *fakeMembers) {
			e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimBound)
			e.warn("0/4 nodes are available: 1 node(s) had volume node affinity conflict.")
		}},
		"EC2 does not answer": {nil, func(e *fakeMembers) {
			e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimBound)
			e.warn(`AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = DeadlineExceeded desc = context deadline exceeded`)
		}},
		"another member is not ready": {nil, func(e *fakeMembers) {
			e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimLost)
			testenv.Change(e.Env, &corev1.Pod{ObjectMeta: testenv.In(testenv.Namespace, "etcd-0")}, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		}},
		"another member has no pod": {nil, func(e *fakeMembers) {
			e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimLost)
			e.Delete(member("etcd-0", "", ""))
		}},
		"all are ready": {nil, func(e *fakeMembers) { e.members(corev1.ConditionTrue, corev1.PodRunning, corev1.ClaimLost) }},
		"a paused cluster": {func(hcp *hyperv1.HostedControlPlane) {
			paused := hyperv1.PausedUntil("true")
			hcp.Spec.PausedUntil = &paused
		}, func(e *fakeMembers) {
			e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimLost)
		}},
		"a single member": {func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ControllerAvailabilityPolicy = hyperv1.SingleReplica }, func(e *fakeMembers) {
			e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimLost)
		}},
		"a sleeping cluster": {func(hcp *hyperv1.HostedControlPlane) {
			metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(hyperv1.SleepPhaseAsleep))
		}, func(e *fakeMembers) { e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimLost) }},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(*hyperv1.HostedControlPlane)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			e := newFakeMembers(t, changes...)
			c.given(e)
			e.Clock.Step(time.Hour)
			e.Run(2)
			if pod, volume := e.kept(); !pod || !volume {
				t.Errorf("it has its pod: %t, its volume: %t", pod, volume)
			}
		})
	}
}

func TestReplacementSurvivesCrashes(t *testing.T) {
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := newFakeMembers(t)
		e.members(corev1.ConditionFalse, corev1.PodPending, corev1.ClaimLost)
		e.Clock.Step(patience)
		s := e.Scenario()
		s.Cloud = nil
		s.Ready = func(ctx context.Context) string {
			pod := &corev1.Pod{}
			if err := e.Admin().Get(ctx, client.ObjectKey{Namespace: testenv.Namespace, Name: "etcd-2"}, pod); err == nil {
				return "the member has its pod"
			}
			return ""
		}
		return s
	})
}

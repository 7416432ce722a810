package components

import (
	"context"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// phase sets the phase, as the hypershift-operator does.
func (e *fakeKubelet) phase(phase hyperv1.SleepPhase) {
	e.T.Helper()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(phase))
		if phase == hyperv1.SleepPhaseAwake {
			delete(hcp.Annotations, hyperv1.SleepPhaseAnnotation)
		}
	})
}

func (e *fakeKubelet) count() (pods int) { return len(testenv.Listed(e.Env, &corev1.PodList{}).Items) }

func TestEtcdStopsAfterItsLastClient(t *testing.T) {
	for _, policy := range []hyperv1.AvailabilityPolicy{hyperv1.SingleReplica, hyperv1.HighlyAvailable} {
		t.Run(string(policy), func(t *testing.T) {
			e := up(t, policy)
			e.Put(&corev1.Service{ObjectMeta: testenv.In(testenv.Namespace, "kube-apiserver"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}})
			members := len(e.pods(names.Etcd))
			e.phase(hyperv1.SleepPhaseAsleep)
			e.Once()
			e.ExpectCondition(hyperv1.HostedClusterAsleep, isFalse, hyperv1.FallingAsleepReason, "waiting for the end of pods etcd-0, ")
			e.SettleWith(func() {
				if etcd := testenv.Named(e.Env, names.Etcd, &appsv1.StatefulSet{}); len(e.pods(names.KubeAPIServer)) > 0 && (*etcd.Spec.Replicas == 0 || len(e.pods(names.Etcd)) < members) {
					t.Fatal("etcd stops before the API server")
				}
			})
			if n := e.count(); n != 0 {
				t.Errorf("%d pods are left", n)
			}
			volumes := map[hyperv1.AvailabilityPolicy]string{hyperv1.SingleReplica: "1 volumes of etcd with 8Gi each", hyperv1.HighlyAvailable: "3 volumes of etcd with 8Gi each"}
			e.ExpectCondition(hyperv1.HostedClusterAsleep, isTrue, hyperv1.AsleepReason, volumes[policy]+"; load balancers: kube-apiserver")
			e.ExpectCondition(hyperv1.HostedControlPlaneDegraded, isFalse, hyperv1.AsExpectedReason, "")
			for _, name := range all {
				e.ExpectConditionOf(componentNamed(name), hyperv1.ControlPlaneComponentAvailable, isFalse, hyperv1.AsleepReason, "the control plane sleeps")
				e.ExpectConditionOf(componentNamed(name), hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.AsleepReason, "the control plane sleeps")
			}
			// All pods start at the same time.
			e.phase(hyperv1.SleepPhaseWaking)
			e.Once()
			for _, name := range []string{names.KubeAPIServer, names.KubeControllerManager} {
				if d := testenv.Named(e.Env, name, &appsv1.Deployment{}); *d.Spec.Replicas == 0 {
					t.Errorf("%s waits", name)
				}
			}
			for _, name := range []string{names.KubeAPIServer, names.KubeControllerManager, names.KubeScheduler} {
				e.ExpectConditionOf(componentNamed(name), hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.WaitingForRolloutCompleteReason, "its pods are being started")
			}
			e.Settle()
			e.phase(hyperv1.SleepPhaseAwake)
			e.Settle()
			if missing := e.ready(t.Context()); missing != "" {
				t.Error(missing)
			}
			e.ExpectConditionText(hyperv1.HostedClusterAsleep, "nothing")
		})
	}
}

// A snapshot that is made then has every write. A restore of etcd stops it nevertheless.
func TestEtcdMayRunWhileTheClusterSleeps(t *testing.T) {
	e := up(t, hyperv1.HighlyAvailable)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepEtcdAnnotation, hyperv1.SleepKeep)
	})
	e.phase(hyperv1.SleepPhaseAsleep)
	e.Settle()
	if n := e.count(); n != 3 || len(e.pods(names.Etcd)) == 0 {
		t.Errorf("%d pods run, and not the three members of etcd", n)
	}
	e.ExpectCondition(hyperv1.HostedClusterAsleep, isTrue, hyperv1.AsleepReason, "3 volumes of etcd with 8Gi each; the pods of etcd")
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.EtcdRestoreAnnotation, "another")
	})
	e.Settle()
	if n := e.count(); n != 0 {
		t.Errorf("%d pods run during the restore", n)
	}
}

func TestAReleaseOfASleepingClusterIsCompleteWhenItIsAwake(t *testing.T) {
	e := up(t, hyperv1.HighlyAvailable)
	e.phase(hyperv1.SleepPhaseAsleep)
	e.Settle()
	e.release(newer)
	e.Settle()
	if v := e.HCP().Status.VersionStatus; len(v.History) != 2 || v.History[0].State != configv1.PartialUpdate || v.History[1].State != configv1.CompletedUpdate {
		t.Errorf("while it sleeps: %+v", v)
	}
	if n := e.count(); n != 0 {
		t.Errorf("%d pods run", n)
	}
	e.phase(hyperv1.SleepPhaseWaking)
	e.SettleWith(func() {
		for _, name := range all {
			if e.pods(name)["1.35.4"] > 0 {
				t.Fatalf("%s runs the former release", name)
			}
		}
	})
	if missing := e.ready(t.Context()); missing != "" {
		t.Error(missing)
	}
}

// Otherwise nodes and kubeconfigs would have another address after the sleep.
func TestLoadBalancersAreKeptForTheAddress(t *testing.T) {
	hcp := controlPlane(hyperv1.SingleReplica)
	hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}}}
	metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepLoadBalancersAnnotation, hyperv1.SleepDelete)
	metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(hyperv1.SleepPhaseAsleep))
	e := newFakeKubelet(t, hcp)
	e.Put(&corev1.Service{ObjectMeta: testenv.In(testenv.Namespace, "kube-apiserver"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}})
	e.Restart()
	e.Settle()
	e.ExpectCondition(hyperv1.HostedClusterAsleep, isTrue, hyperv1.AsleepReason, "load balancers: kube-apiserver (kept: the API server has no host name, and another load balancer would have another address)")
}

// A cluster that falls asleep at any time has no pods in the end, and its etcd has been up.
func TestSleepSurvivesCrashes(t *testing.T) {
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := up(t, hyperv1.SingleReplica)
		e.phase(hyperv1.SleepPhaseAsleep)
		s := e.Scenario()
		s.Ready = func(context.Context) string {
			if etcd := testenv.Named(e.Env, names.Etcd, &appsv1.StatefulSet{}); ptr.Deref(etcd.Spec.Replicas, 1) > 0 || e.count() > 0 {
				return "pods are left"
			}
			return ""
		}
		return s
	})
}

package hostedcluster

import (
	"context"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// reportAsleep acts for the control-plane-operator of a sleeping cluster: one pass for the last pods.
func (e *managementCluster) reportAsleep(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	c := metav1.Condition{Type: hyperv1.HostedClusterAsleep, Status: metav1.ConditionFalse, Reason: hyperv1.FallingAsleepReason, Message: "waiting for the end of pod etcd-0"}
	if reported := meta.FindStatusCondition(hcp.Status.Conditions, c.Type); reported != nil {
		c = metav1.Condition{Type: c.Type, Status: metav1.ConditionTrue, Reason: hyperv1.AsleepReason, Message: "1 volume of etcd with 8Gi"}
		if reported.Status == c.Status {
			return nil
		}
	}
	reconcile.SetCondition(&hcp.Status.Conditions, c, e.Clock.Now())
	for _, condition := range []string{hyperv1.KubeAPIServerAvailable, hyperv1.EtcdAvailable} {
		reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: hyperv1.AsleepReason, Message: "the control plane sleeps"}, e.Clock.Now())
	}
	return e.Admin().Status().Update(ctx, hcp)
}

// reportAwake acts for the control-plane-operator of a cluster that wakes. The API server takes one pass.
func (e *managementCluster) reportAwake(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	if meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.HostedClusterAsleep) == nil {
		return nil
	}
	meta.RemoveStatusCondition(&hcp.Status.Conditions, hyperv1.HostedClusterAsleep)
	for _, condition := range []string{hyperv1.KubeAPIServerAvailable, hyperv1.EtcdAvailable} {
		reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}, e.Clock.Now())
	}
	return e.Admin().Status().Update(ctx, hcp)
}

func (e *managementCluster) sleepPhase(ctx context.Context) hyperv1.SleepPhase {
	hcp := &hyperv1.HostedControlPlane{}
	if !e.existsIn(ctx, hcp, client.ObjectKey{Namespace: plane, Name: "demo"}) {
		return hyperv1.SleepPhaseAwake
	}
	return hcp.SleepPhase()
}

// stopped reports whether Cluster API has no pods.
func (e *managementCluster) stopped(ctx context.Context) bool {
	d := &appsv1.Deployment{}
	return e.existsIn(ctx, d, client.ObjectKey{Namespace: plane, Name: names.ClusterAPI}) && ptr.Deref(d.Spec.Replicas, 1) == 0
}

// newSleeper returns a cluster that has been up.
func newSleeper(t testing.TB) *managementCluster {
	e := newManagementCluster(t)
	e.Run(6)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.updateControlPlaneStatus(func(st *hyperv1.HostedControlPlaneStatus) { st.Initialized = true })
	return e
}

func (e *managementCluster) annotate(annotations ...string) {
	e.T.Helper()
	e.change(func(hc *hyperv1.HostedCluster) {
		for i := 0; i < len(annotations); i += 2 {
			metav1.SetMetaDataAnnotation(&hc.ObjectMeta, annotations[i], annotations[i+1])
		}
	})
}

// wantAsleep checks the condition, the recorded phase and Cluster API.
func (e *managementCluster) wantAsleep(status metav1.ConditionStatus, reason, words string, phase hyperv1.SleepPhase, paused bool) {
	e.T.Helper()
	e.ExpectCondition(hyperv1.HostedClusterAsleep, status, reason, words)
	hcp, cluster := &hyperv1.HostedControlPlane{}, &clusterv1.Cluster{}
	if !e.Has(hcp, "demo") || hcp.SleepPhase() != phase {
		e.T.Errorf("phase %q, want %q", hcp.SleepPhase(), phase)
	}
	if !e.Has(cluster, "demo-x") || ptr.Deref(cluster.Spec.Paused, false) != paused {
		e.T.Errorf("Cluster API is paused: %v, want %v", *cluster.Spec.Paused, paused)
	}
	if stopped := phase == hyperv1.SleepPhaseAsleep; e.stopped(e.T.Context()) != stopped {
		e.T.Errorf("Cluster API has no pods: %v, want %v", !stopped, stopped)
	}
}

func TestAClusterSleepsAndKeepsItsMachines(t *testing.T) {
	e := newSleeper(t)
	e.annotate(hyperv1.SleepAnnotation, "true")
	e.Run(1)
	e.Once()
	e.wantAsleep(metav1.ConditionFalse, hyperv1.FallingAsleepReason, "waiting for the end of pod etcd-0", hyperv1.SleepPhaseAsleep, true)
	e.Run(4)
	e.wantAsleep(metav1.ConditionTrue, hyperv1.AsleepReason,
		"what still costs: 1 volume of etcd with 8Gi; PrivateLink endpoints: private-router; 1 machines: workers-1; the control-plane-operator; volumes and load balancers of workloads", hyperv1.SleepPhaseAsleep, true)
	for _, condition := range []string{hyperv1.HostedClusterAvailable, hyperv1.HostedClusterProgressing, hyperv1.HostedClusterReady} {
		e.ExpectCondition(condition, metav1.ConditionFalse, hyperv1.AsleepReason, `the cluster sleeps: set annotation hypershift.openshift.io/sleep to "false" to wake it`)
	}
	e.wantEvent("Asleep", "the control plane sleeps")
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason)

	e.annotate(hyperv1.SleepAnnotation, "false")
	e.Once()
	e.wantAsleep(metav1.ConditionFalse, hyperv1.WakingReason, "the control plane starts", hyperv1.SleepPhaseWaking, true)
	e.Run(4)
	e.wantAsleep(metav1.ConditionFalse, hyperv1.AwakeReason, "the cluster is awake", hyperv1.SleepPhaseAwake, false)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.change(func(hc *hyperv1.HostedCluster) { delete(hc.Annotations, hyperv1.SleepAnnotation) })
	e.Run(2)
	e.ExpectConditionText(hyperv1.HostedClusterAsleep, "nothing")
}

func TestMachinesAreDeletedBeforeTheControlPlaneStops(t *testing.T) {
	e := newSleeper(t)
	e.stuck = true
	e.annotate(hyperv1.SleepAnnotation, "true", hyperv1.SleepMachinesAnnotation, hyperv1.SleepDelete)
	e.Run(3)
	e.wantAsleep(metav1.ConditionFalse, hyperv1.FallingAsleepReason, "waiting until these machines are drained and deleted: workers-1", hyperv1.SleepPhaseRemovingMachines, false)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectRequeue(10 * time.Second)
	e.stuck = false
	e.Run(5)
	e.wantAsleep(metav1.ConditionTrue, hyperv1.AsleepReason, "PrivateLink endpoints: private-router; the control-plane-operator", hyperv1.SleepPhaseAsleep, true)
	e.annotate(hyperv1.SleepAnnotation, "false")
	e.Once()
	e.wantAsleep(metav1.ConditionFalse, hyperv1.WakingReason, "the control plane starts", hyperv1.SleepPhaseWaking, false) // machines start meanwhile
	e.Run(4)
	e.wantAsleep(metav1.ConditionFalse, hyperv1.AwakeReason, "", hyperv1.SleepPhaseAwake, false)
}

func TestAScheduleWakesAndAPauseDoesNot(t *testing.T) {
	e := newSleeper(t)
	in := func(d time.Duration) string { return e.Clock.Now().Add(d).UTC().Format("4 15 * * *") }
	e.annotate(hyperv1.SleepScheduleAnnotation, in(-time.Hour)+"; "+in(2*time.Hour))
	e.Run(5)
	e.wantAsleep(metav1.ConditionTrue, hyperv1.AsleepReason, "", hyperv1.SleepPhaseAsleep, true)
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
	e.Clock.Step(2 * time.Hour)
	e.Run(2)
	e.wantAsleep(metav1.ConditionTrue, hyperv1.AsleepReason, "", hyperv1.SleepPhaseAsleep, true)
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = nil })
	e.Run(5)
	e.wantAsleep(metav1.ConditionFalse, hyperv1.AwakeReason, "the cluster is awake", hyperv1.SleepPhaseAwake, false)
	e.annotate(hyperv1.SleepScheduleAnnotation, "at night")
	e.Run(2)
	e.wantAsleep(metav1.ConditionFalse, hyperv1.InvalidSleepReason, `annotation hypershift.openshift.io/sleep-schedule is "at night": it has 1 parts`, hyperv1.SleepPhaseAwake, false)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestANewReleaseReachesASleepingControlPlane(t *testing.T) {
	e := newSleeper(t)
	e.annotate(hyperv1.SleepAnnotation, "true")
	e.Run(5)
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = "example.test/release:2" })
	e.Run(3)
	e.wantControlPlane(notPaused, "example.test/release:2")
	e.wantAsleep(metav1.ConditionTrue, hyperv1.AsleepReason, "", hyperv1.SleepPhaseAsleep, true)
}

func TestAClusterFallsAsleepAfterItHasBeenUp(t *testing.T) {
	e := newManagementCluster(t)
	e.annotate(hyperv1.SleepAnnotation, "true")
	e.Run(6)
	e.wantAsleep(metav1.ConditionFalse, hyperv1.AwakeReason, "the cluster falls asleep after it has been available for the first time", hyperv1.SleepPhaseAwake, false)
	e.updateControlPlaneStatus(func(st *hyperv1.HostedControlPlaneStatus) { st.Initialized = true })
	e.Run(5)
	e.wantAsleep(metav1.ConditionTrue, hyperv1.AsleepReason, "", hyperv1.SleepPhaseAsleep, true)
}

func TestADeletedNodePoolOfASleepingClusterNeedsClusterAPI(t *testing.T) {
	e := newSleeper(t)
	e.annotate(hyperv1.SleepAnnotation, "true")
	e.Run(5)
	e.Delete(pool())
	e.Once()
	if e.stopped(t.Context()) {
		t.Error("Cluster API has no pods")
	}
	e.Run(4)
	if e.Exists(pool()) || len(testenv.Listed(e.Env, &clusterv1.MachineList{}).Items) > 0 {
		t.Error("the node pool still exists")
	}
	e.ExpectCondition(hyperv1.HostedClusterAsleep, metav1.ConditionTrue, hyperv1.AsleepReason)
}

// The hosted cluster removes its load balancers by its API server.
func TestDeletionWakesTheCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		keeps, dead, ingress bool
	}{
		"the API server starts":              {},
		"the user keeps the cloud resources": {keeps: true},
		"the user keeps them, and the release's ingress controller has a load balancer": {keeps: true, ingress: true},
		"the API server does not start": {dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newSleeper(t)
			e.created = []hyperv1.LeftBehindResource{{Service: "ELB", Type: "load balancer", ID: "a1"}}
			e.annotate(hyperv1.SleepAnnotation, "true")
			if tc.keeps {
				e.annotate(hyperv1.CleanupCloudResourcesAnnotation, "false")
			}
			e.Run(5)
			e.ExpectCondition(hyperv1.HostedClusterAsleep, metav1.ConditionTrue, hyperv1.AsleepReason)
			if tc.ingress {
				e.updateControlPlaneStatus(func(st *hyperv1.HostedControlPlaneStatus) {
					st.Ingress = &hyperv1.IngressStatus{LoadBalancer: "ingress.elb.us-east-1.amazonaws.com"}
				})
			}
			e.silent = tc.dead
			e.Delete(privateCluster())
			e.Once()
			want, wakes := hyperv1.SleepPhaseWaking, !tc.keeps || tc.ingress
			if !wakes {
				want = hyperv1.SleepPhaseAsleep
			}
			if phase := e.sleepPhase(t.Context()); phase != want {
				t.Errorf("phase %q, want %q", phase, want)
			}
			if wakes {
				e.ExpectCondition(hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.WakingReason, "waiting for the API server of the sleeping cluster, which has to remove what it made in the cloud")
				e.ExpectCondition(hyperv1.HostedClusterAsleep, metav1.ConditionFalse, hyperv1.WakingReason)
			}
			if tc.dead {
				e.Run(2)
				if e.Exists(pool()) && !testenv.Read(e.Env, pool()).DeletionTimestamp.IsZero() {
					t.Error("machines are deleted before the API server had its time")
				}
				e.Clock.Step(orphanAfter)
				e.Run(3)
				e.wantEvent("CloudResourcesLeftBehind", "the hosted API server does not answer (the control plane sleeps)")
			}
			e.Run(14)
			if e.Exists(privateCluster()) {
				t.Errorf("the cluster still exists: %s", e.ConditionText(hyperv1.HostedClusterDestroyed))
			}
			if e.Events.Contains("CloudResourcesLeftBehind") {
				t.Error("cloud resources were left behind")
			}
		})
	}
}

// A schedule of backups may ask for a last one, for which etcd needs pods.
func TestALastBackupWakesTheCluster(t *testing.T) {
	e := newSleeper(t)
	e.annotate(hyperv1.SleepAnnotation, "true")
	e.annotate(hyperv1.CleanupCloudResourcesAnnotation, "false")
	hc := testenv.Read(e.Env, privateCluster())
	hc.Finalizers = append(hc.Finalizers, hyperv1.LastBackupFinalizer)
	e.Must(e.Admin().Update(t.Context(), hc))
	e.Run(5)
	e.ExpectCondition(hyperv1.HostedClusterAsleep, metav1.ConditionTrue, hyperv1.AsleepReason)
	e.Delete(privateCluster())
	e.Once()
	if phase := e.sleepPhase(t.Context()); phase != hyperv1.SleepPhaseWaking {
		t.Errorf("phase %q, want %q", phase, hyperv1.SleepPhaseWaking)
	}
	hc = testenv.Read(e.Env, privateCluster())
	hc.Finalizers = slices.DeleteFunc(hc.Finalizers, func(f string) bool { return f == hyperv1.LastBackupFinalizer })
	e.Must(e.Admin().Update(t.Context(), hc))
	e.Run(14)
	if e.Exists(privateCluster()) {
		t.Errorf("the cluster still exists: %s", e.ConditionText(hyperv1.HostedClusterDestroyed))
	}
}

// asleepScenario is a cluster that falls asleep as soon as it is up.
func asleepScenario(t testing.TB) *crashtest.Scenario {
	e := newEmptyManagementCluster(t)
	e.created = []hyperv1.LeftBehindResource{{Service: "ELB", Type: "load balancer", ID: "a1"}}
	hc := privateCluster()
	hc.Annotations = map[string]string{hyperv1.SleepAnnotation: "true", hyperv1.SleepMachinesAnnotation: hyperv1.SleepDelete}
	e.Create(testenv.PullSecret(), hc, pool())
	s := e.scenario()
	s.Ready = e.Ready(hyperv1.HostedClusterAsleep)
	return s
}

func TestSleepSurvivesCrashes(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, asleepScenario) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, asleepScenario) })
}

package components

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	isTrue  = metav1.ConditionTrue
	isFalse = metav1.ConditionFalse
)

// up is an environment in which the older release runs.
func up(t testing.TB, policy hyperv1.AvailabilityPolicy) *fakeKubelet {
	t.Helper()
	e := newFakeKubelet(t, controlPlane(policy))
	e.Settle()
	if missing := e.ready(t.Context()); missing != "" {
		t.Fatal(missing)
	}
	return e
}

func TestControlPlaneStarts(t *testing.T) {
	e := up(t, hyperv1.HighlyAvailable)
	for name, want := range map[string]int{names.Etcd: 3, names.KubeAPIServer: 3, names.KubeControllerManager: 2, names.KubeScheduler: 2} {
		if got := e.pods(name)["1.35.4"]; got != want {
			t.Errorf("%d pods of %s, want %d", got, name, want)
		}
		e.ExpectConditionOf(componentNamed(name), hyperv1.ControlPlaneComponentAvailable, isTrue, hyperv1.AsExpectedReason, "")
		if got := testenv.Read(e.Env, componentNamed(name)).Status; got.Version != "1.35.4" || len(got.Resources) == 0 {
			t.Errorf("status of %s: %+v", name, got)
		}
	}
	e.ExpectCondition(hyperv1.ValidReleaseInfo, isTrue, hyperv1.AsExpectedReason, "")
	e.ExpectCondition(hyperv1.HostedControlPlaneDegraded, isFalse, hyperv1.AsExpectedReason, "")
	if at := e.HCP().Status.CertificatesExpire; at == nil || !at.Time.Equal(certificatesExpire) {
		t.Errorf("the first certificate expires at %v", at)
	}
	if v := e.HCP().Status.VersionStatus; len(v.History) != 1 || v.History[0].Image != older || v.History[0].CompletionTime == nil || v.Desired.Version != "1.35.4" {
		t.Errorf("%+v", v)
	}
}

// Otherwise the certificate would be issued twice.
func TestChosenHostNameIsInTheFirstCertificate(t *testing.T) {
	hcp := controlPlane(hyperv1.SingleReplica)
	hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
		Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.example.test"},
	}}}
	e := newFakeKubelet(t, hcp)
	e.Restart()
	e.Once()
	certificate := testenv.Named(e.Env, names.APIServerCertificate, &corev1.Secret{})
	if got := string(certificate.Data["tls.crt"]); got != names.APIServerCertificate+" api.example.test" {
		t.Errorf("the certificate is for %q", got)
	}
}

// etcdAnswers is the condition that the controller of the hosted API server sets.
var etcdAnswers = metav1.Condition{Type: hyperv1.EtcdAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.EtcdQuorumAvailableReason}

// etcd reads in a ConfigMap that the cluster has begun, and is not restarted.
func TestChangeOfAnotherObjectIsNoRollout(t *testing.T) {
	e := up(t, hyperv1.SingleReplica)
	config := testenv.Named(e.Env, "etcd-config", &corev1.ConfigMap{})
	before := config.ResourceVersion
	hcp := e.HCP()
	hcp.Status.Initialized = true
	hcp.Status.Initialization = &hyperv1.HostedControlPlaneInitialization{ControlPlaneInitialized: ptr.To(true)}
	reconcile.SetCondition(&hcp.Status.Conditions, etcdAnswers, e.Clock.Now())
	e.Must(e.Admin().Status().Update(t.Context(), hcp))
	e.Restart()
	e.Once()
	testenv.Named(e.Env, "etcd-config", config)
	if config.ResourceVersion == before {
		t.Error("the ConfigMap has not changed")
	}
	e.ExpectConditionOf(componentNamed(names.Etcd), hyperv1.ControlPlaneComponentRolloutComplete, isTrue, hyperv1.AsExpectedReason, "")
}

// A component is not updated before its dependencies are rolled out.
func TestUpgradeFollowsTheDependencies(t *testing.T) {
	e := up(t, hyperv1.HighlyAvailable)
	e.release(newer)
	seen := map[string]bool{}
	e.SettleWith(func() {
		for _, pair := range [][2]string{{names.Etcd, names.KubeAPIServer}, {names.KubeAPIServer, names.KubeControllerManager}, {names.KubeAPIServer, names.KubeScheduler}} {
			before, after := e.pods(pair[0]), e.pods(pair[1])
			if before["1.35.4"] > 0 && after["1.36.3"] > 0 {
				t.Fatalf("%s begins while %s has %v", pair[1], pair[0], before)
			}
			if before["1.36.3"] > 0 && after["1.36.3"] == 0 {
				seen[pair[1]+" waits"] = true
			}
		}
		v := e.HCP().Status.VersionStatus
		if done := v.History[0].State == configv1.CompletedUpdate; done && v.Desired.Version == "1.36.3" && e.pods(names.KubeScheduler)["1.35.4"] > 0 {
			t.Fatal("complete too early")
		}
	})
	if missing := e.ready(t.Context()); missing != "" || len(seen) != 3 {
		t.Errorf("missing %s, seen %v", missing, seen)
	}
	if v := e.HCP().Status.VersionStatus; len(v.History) != 2 || v.History[0].Image != newer || v.History[1].State != configv1.CompletedUpdate {
		t.Errorf("%+v", v)
	}
}

// With one replica, kube-controller-manager has no pod for a moment. That is no fault.
func TestARolloutIsNoFault(t *testing.T) {
	e := up(t, hyperv1.SingleReplica)
	e.release(newer)
	none := false
	e.SettleWith(func() {
		none = none || len(e.podsWith(names.KubeControllerManager)) == 0
		if c := meta.FindStatusCondition(e.HCP().Status.Conditions, hyperv1.HostedControlPlaneDegraded); c != nil && c.Status != isFalse {
			t.Fatalf("%+v", c)
		}
	})
	if missing := e.ready(t.Context()); missing != "" || !none {
		t.Errorf("missing %s, without a pod %t", missing, none)
	}
}

func TestStuckUpgradeIsReported(t *testing.T) {
	e := up(t, hyperv1.SingleReplica)
	e.sick[names.KubeAPIServer] = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: names.KubeAPIServer, Image: "example.test/kube-apiserver:1.36.3", RestartCount: 4,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Message: `E1120 17:23:59.123456       1 run.go:72] "command failed" err="--feature-gates: unrecognized feature gate: Nothing"` + "\n",
		}},
	}}}
	// The old pod was healthy before.
	e.release(newer)
	e.Settle()
	const message = `container kube-apiserver ends with exit code 1: "command failed" err="--feature-gates: unrecognized feature gate: Nothing"`
	e.ExpectConditionOf(componentNamed(names.KubeAPIServer), hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.ContainerCrashedReason, message)
	e.ExpectConditionOf(componentNamed(names.KubeAPIServer), hyperv1.ControlPlaneComponentAvailable, isTrue, hyperv1.AsExpectedReason, "")
	e.ExpectConditionOf(componentNamed(names.KubeScheduler), hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.WaitingForDependenciesReason, "waiting until kube-apiserver runs version 1.36.3")
	e.ExpectConditionOf(componentNamed(names.KubeScheduler), hyperv1.ControlPlaneComponentAvailable, isTrue, hyperv1.AsExpectedReason, "")
	e.ExpectCondition(hyperv1.HostedControlPlaneDegraded, isTrue, hyperv1.ContainerCrashedReason, "kube-apiserver: "+message)
	if v := e.HCP().Status.VersionStatus; v.History[0].State != configv1.PartialUpdate || v.History[0].Image != newer {
		t.Errorf("%+v", v)
	}

	delete(e.sick, names.KubeAPIServer)
	e.Settle()
	if missing := e.ready(t.Context()); missing != "" {
		t.Error(missing)
	}
	e.ExpectCondition(hyperv1.HostedControlPlaneDegraded, isFalse, hyperv1.AsExpectedReason, "")
}

func TestIncompleteReleaseIsNotRolledOut(t *testing.T) {
	e := newFakeKubelet(t, controlPlane(hyperv1.SingleReplica))
	e.releases.Put(fakerelease.With(fakerelease.Kubernetes(older, "1.35.4"), func(r *release.Release) { delete(r.Components, names.KubeScheduler) }))
	e.Settle()
	e.ExpectCondition(hyperv1.ValidReleaseInfo, isFalse, hyperv1.MissingReleaseImagesReason, "release 1.35.4 has no image for kube-scheduler")
	if got := e.pods(names.Etcd); len(got) != 0 {
		t.Errorf("etcd has pods: %v", got)
	}

	e.release(newer)
	e.Settle()
	if missing := e.ready(t.Context()); missing != "" {
		t.Error(missing)
	}
}

func TestUnreachableRegistryIsRetried(t *testing.T) {
	e := newFakeKubelet(t, controlPlane(hyperv1.SingleReplica))
	e.releases.Fail(older, release.Unreachable, "no answer in time")
	e.Restart()
	if err := e.Try(); err == nil {
		t.Error("nobody will ask again")
	}
	e.ExpectCondition(hyperv1.ValidReleaseInfo, metav1.ConditionUnknown, hyperv1.RegistryUnreachableReason, "no answer in time")
	e.releases.Fail(older, "", "")
	e.Settle()
	e.ExpectCondition(hyperv1.ValidReleaseInfo, isTrue, hyperv1.AsExpectedReason, "")

	e.releases.Fail(older, release.Unreachable, "no answer in time")
	_ = e.Try()
	e.ExpectCondition(hyperv1.ValidReleaseInfo, isTrue, hyperv1.AsExpectedReason, "") // the release is not evaluated
}

func TestControlPlaneReleaseIsIndependent(t *testing.T) {
	e := newFakeKubelet(t, controlPlane(hyperv1.SingleReplica))
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ControlPlaneReleaseImage = ptr.To(newer) })
	e.Settle()
	if got := e.pods(names.KubeScheduler); got["1.36.3"] != 1 {
		t.Errorf("pods run %v", got)
	}
	if v := e.HCP().Status.VersionStatus; v.History[0].Version != "1.35.4" || v.History[0].State != configv1.CompletedUpdate {
		t.Errorf("the cluster's own release: %+v", v)
	}
	e.ran("1.36.3")
}

// ran compares the reported version history of the control plane, newest first.
func (e *fakeKubelet) ran(want ...string) {
	e.T.Helper()
	v := e.HCP().Status.ControlPlaneVersion
	if v == nil || len(v.History) != len(want) {
		e.T.Fatalf("control plane version %+v, want %v", v, want)
	}
	for i, version := range want {
		if v.History[i].Version != version || v.History[i].State != configv1.CompletedUpdate {
			e.T.Errorf("%d: %+v, want %s completed", i, v.History[i], version)
		}
	}
	if v.Desired.Version != want[0] || v.Desired.Image != v.History[0].Image {
		e.T.Errorf("desired %+v with history %+v", v.Desired, v.History)
	}
}

func TestControlPlaneVersionFollowsTheClusterRelease(t *testing.T) {
	e := up(t, hyperv1.SingleReplica)
	e.ran("1.35.4")
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ControlPlaneReleaseImage = ptr.To(newer) })
	e.Settle()
	e.ran("1.36.3", "1.35.4")
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.ReleaseImage, hcp.Spec.ControlPlaneReleaseImage = newer, nil
	})
	e.Settle()
	e.ran("1.36.3", "1.35.4") // it ran that before
}

func TestPausedControlPlaneIsNotChanged(t *testing.T) {
	e := up(t, hyperv1.SingleReplica)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hcp.Spec.ReleaseImage = newer
	})
	e.Settle()
	if got := e.pods(names.Etcd); got["1.36.3"] != 0 {
		t.Errorf("etcd runs %v", got)
	}
	e.ExpectConditionOf(componentNamed(names.Etcd), hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.WaitingForDependenciesReason, "spec.pausedUntil stops changes")
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.PausedUntil = nil })
	e.Settle()
	if missing := e.ready(t.Context()); missing != "" || e.pods(names.Etcd)["1.36.3"] != 1 {
		t.Errorf("it does not go on: %s", missing)
	}
}

func TestDeletedObjectsAreRecreated(t *testing.T) {
	e := up(t, hyperv1.SingleReplica)
	for _, obj := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: names.SchedulerKubeconfig}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: names.KubeScheduler}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: names.KubeControllerManager}},
		&hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Name: names.Etcd}},
	} {
		obj.SetNamespace("clusters-demo")
		e.Must(e.Admin().Delete(t.Context(), obj))
		e.Settle()
		e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
		if missing := e.ready(t.Context()); missing != "" {
			t.Errorf("after %T: %s", obj, missing)
		}
	}
}

func TestChangesRollOnlyAffectedComponents(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*fakeKubelet)
		rolls  []string
	}{
		"a kubeconfig is read once": {
			func(e *fakeKubelet) { e.rewrite(names.SchedulerKubeconfig) }, []string{names.KubeControllerManager, names.KubeScheduler},
		},
		"a certificate is followed": {
			func(e *fakeKubelet) { e.rewrite(names.APIServerCertificate) }, nil,
		},
		"the user asks for a restart": {
			func(e *fakeKubelet) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Annotations[hyperv1.RestartDateAnnotation] = "now" })
			}, all,
		},
		"a profile of the scheduler": {
			func(e *fakeKubelet) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
					hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Scheduler: &configv1.SchedulerSpec{Profile: configv1.NoScoring}}
				})
			}, []string{names.KubeControllerManager, names.KubeScheduler},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := up(t, hyperv1.SingleReplica)
			before := map[string]string{}
			for _, c := range all {
				before[c] = e.revisions(c)
			}
			tc.change(e)
			e.Settle()
			var rolled []string
			for _, c := range all {
				if e.revisions(c) != before[c] {
					rolled = append(rolled, c)
				}
			}
			if len(rolled) != len(tc.rolls) || len(rolled) > 0 && rolled[0] != tc.rolls[0] {
				t.Errorf("%v were rolled, want %v", rolled, tc.rolls)
			}
		})
	}
}

// rewrite renews an object of the user: our issuer would restore it.
func (e *fakeKubelet) rewrite(secret string) {
	e.T.Helper()
	s := testenv.Named(e.Env, secret, &corev1.Secret{})
	s.Data["renewed"] = []byte("yes")
	e.Must(e.Admin().Update(e.T.Context(), s))
}

// The only member reads it when it starts, and is not restarted for it.
func TestEtcdReadsFormedWithoutARestart(t *testing.T) {
	e := up(t, hyperv1.SingleReplica)
	before := e.revisions(names.Etcd)
	hcp := e.HCP()
	hcp.Status.Initialization = &hyperv1.HostedControlPlaneInitialization{ControlPlaneInitialized: ptr.To(true)}
	reconcile.SetCondition(&hcp.Status.Conditions, etcdAnswers, e.Clock.Now())
	e.Must(e.Admin().Status().Update(t.Context(), hcp))
	e.Settle()
	config := testenv.Named(e.Env, "etcd-config", &corev1.ConfigMap{})
	if config.Data["formed"] != "true" || e.revisions(names.Etcd) != before {
		t.Errorf("formed is %q, and pods were %s and are %s", config.Data["formed"], before, e.revisions(names.Etcd))
	}
}

func TestEtcdIsAvailableWithAMajority(t *testing.T) {
	e := up(t, hyperv1.HighlyAvailable)
	for n, want := range []metav1.ConditionStatus{isTrue, isFalse} {
		pod := testenv.Named(e.Env, []string{"etcd-0", "etcd-1"}[n], &corev1.Pod{})
		before := pod.DeepCopy()
		pod.Status = corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/3 nodes are available: 1 Insufficient memory, 2 Insufficient cpu. preemption: 0/3 nodes are available.",
		}}}
		e.publish(t.Context(), pod, before)
		sts := testenv.Named(e.Env, names.Etcd, &appsv1.StatefulSet{})
		sts.Status.ReadyReplicas--
		e.Must(e.Admin().Status().Update(t.Context(), sts))
		e.Restart()
		e.Once()

		reason := hyperv1.AsExpectedReason
		if want == isFalse {
			reason = hyperv1.PodUnschedulableReason
		}
		e.ExpectConditionOf(componentNamed(names.Etcd), hyperv1.ControlPlaneComponentAvailable, want, reason, "")
		e.ExpectConditionOf(componentNamed(names.Etcd), hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.PodUnschedulableReason, "etcd-0: no node takes a pod: Insufficient cpu, Insufficient memory")
	}
	e.ExpectCondition(hyperv1.HostedControlPlaneDegraded, isTrue, hyperv1.PodUnschedulableReason, "etcd: etcd-0")
}

func TestUnmanagedEtcdNeedsNoComponent(t *testing.T) {
	hcp := controlPlane(hyperv1.SingleReplica)
	hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	hcp.Spec.Etcd.Unmanaged = &hyperv1.UnmanagedEtcdSpec{Endpoint: "https://etcd.example.com:2379", TLS: hyperv1.EtcdTLSConfig{ClientSecret: corev1.LocalObjectReference{Name: "etcd-client"}}}
	e := newFakeKubelet(t, hcp)
	e.releases.Put(fakerelease.With(fakerelease.Kubernetes(older, "1.35.4"), func(r *release.Release) { delete(r.Components, names.Etcd) }))
	e.Settle()
	if e.Exists(componentNamed(names.Etcd)) || e.pods(names.KubeScheduler)["1.35.4"] != 1 {
		t.Errorf("there is etcd, or scheduler %v", e.pods(names.KubeScheduler))
	}
}

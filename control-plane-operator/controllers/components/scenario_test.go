package components

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

const (
	isTrue  = metav1.ConditionTrue
	isFalse = metav1.ConditionFalse
)

// up is an environment in which the older release runs.
func up(t *testing.T, policy hyperv1.AvailabilityPolicy) *testEnv {
	t.Helper()
	w := newTestEnv(t, controlPlane(policy))
	w.settle()
	if missing := w.ready(t.Context()); missing != "" {
		t.Fatal(missing)
	}
	return w
}

func TestControlPlaneStarts(t *testing.T) {
	w := up(t, hyperv1.HighlyAvailable)
	for name, want := range map[string]int{names.Etcd: 3, names.KubeAPIServer: 3, names.KubeControllerManager: 2, names.KubeScheduler: 2} {
		if got := w.pods(name)["1.35.4"]; got != want {
			t.Errorf("%d pods of %s, want %d", got, name, want)
		}
		w.wants(name, hyperv1.ControlPlaneComponentAvailable, isTrue, hyperv1.AsExpectedReason, "")
		if got := w.component(name).Status; got.Version != "1.35.4" || len(got.Resources) == 0 {
			t.Errorf("status of %s: %+v", name, got)
		}
	}
	w.says(hyperv1.ValidReleaseInfo, isTrue, hyperv1.AsExpectedReason, "")
	w.says(hyperv1.HostedControlPlaneDegraded, isFalse, hyperv1.AsExpectedReason, "")
	if v := w.hcp(t.Context()).Status.VersionStatus; len(v.History) != 1 || v.History[0].Image != older || v.History[0].CompletionTime == nil || v.Desired.Version != "1.35.4" {
		t.Errorf("%+v", v)
	}
}

// Otherwise the certificate would be issued twice.
func TestChosenHostNameIsInTheFirstCertificate(t *testing.T) {
	hcp := controlPlane(hyperv1.SingleReplica)
	hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
		Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.example.test"},
	}}}
	w := newTestEnv(t, hcp)
	w.must(w.start()(t.Context()))
	certificate := &corev1.Secret{}
	w.must(w.Admin().Get(t.Context(), w.key(names.APIServerCertificate), certificate))
	if got := string(certificate.Data["tls.crt"]); got != names.APIServerCertificate+" api.example.test" {
		t.Errorf("the certificate is for %q", got)
	}
}

// etcd reads in a ConfigMap that the cluster has begun, and is not restarted.
func TestChangeOfAnotherObjectIsNoRollout(t *testing.T) {
	w := up(t, hyperv1.SingleReplica)
	config := &corev1.ConfigMap{}
	w.must(w.Admin().Get(t.Context(), w.key("etcd-config"), config))
	before := config.ResourceVersion
	hcp := w.hcp(t.Context())
	hcp.Status.Initialized = true
	hcp.Status.Initialization = &hyperv1.HostedControlPlaneInitialization{ControlPlaneInitialized: ptr.To(true)}
	w.must(w.Admin().Status().Update(t.Context(), hcp))
	w.must(w.start()(t.Context()))
	w.must(w.Admin().Get(t.Context(), w.key("etcd-config"), config))
	if config.ResourceVersion == before {
		t.Error("the ConfigMap has not changed")
	}
	w.wants(names.Etcd, hyperv1.ControlPlaneComponentRolloutComplete, isTrue, hyperv1.AsExpectedReason, "")
}

// A component is not updated before its dependencies are rolled out.
func TestUpgradeFollowsTheDependencies(t *testing.T) {
	w := up(t, hyperv1.HighlyAvailable)
	w.release(newer)
	seen := map[string]bool{}
	w.watch(func() {
		for _, pair := range [][2]string{{names.Etcd, names.KubeAPIServer}, {names.KubeAPIServer, names.KubeControllerManager}, {names.KubeAPIServer, names.KubeScheduler}} {
			before, after := w.pods(pair[0]), w.pods(pair[1])
			if before["1.35.4"] > 0 && after["1.36.3"] > 0 {
				t.Fatalf("%s begins while %s has %v", pair[1], pair[0], before)
			}
			if before["1.36.3"] > 0 && after["1.36.3"] == 0 {
				seen[pair[1]+" waits"] = true
			}
		}
		v := w.hcp(t.Context()).Status.VersionStatus
		if done := v.History[0].State == configv1.CompletedUpdate; done && v.Desired.Version == "1.36.3" && w.pods(names.KubeScheduler)["1.35.4"] > 0 {
			t.Fatal("complete too early")
		}
	})
	if missing := w.ready(t.Context()); missing != "" || len(seen) != 3 {
		t.Errorf("missing %s, seen %v", missing, seen)
	}
	if v := w.hcp(t.Context()).Status.VersionStatus; len(v.History) != 2 || v.History[0].Image != newer || v.History[1].State != configv1.CompletedUpdate {
		t.Errorf("%+v", v)
	}
}

func TestStuckUpgradeIsReported(t *testing.T) {
	w := up(t, hyperv1.SingleReplica)
	w.sick[names.KubeAPIServer] = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: names.KubeAPIServer, Image: "example.test/kube-apiserver:1.36.3", RestartCount: 4,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Message: `E1120 17:23:59.123456       1 run.go:72] "command failed" err="--feature-gates: unrecognized feature gate: Nothing"` + "\n",
		}},
	}}}
	// The old pod was healthy before.
	w.release(newer)
	w.settle()
	const message = `container kube-apiserver ends with exit code 1: "command failed" err="--feature-gates: unrecognized feature gate: Nothing"`
	w.wants(names.KubeAPIServer, hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.ContainerCrashedReason, message)
	w.wants(names.KubeAPIServer, hyperv1.ControlPlaneComponentAvailable, isTrue, hyperv1.AsExpectedReason, "")
	w.wants(names.KubeScheduler, hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.WaitingForDependenciesReason, "waiting until kube-apiserver runs version 1.36.3")
	w.wants(names.KubeScheduler, hyperv1.ControlPlaneComponentAvailable, isTrue, hyperv1.AsExpectedReason, "")
	w.says(hyperv1.HostedControlPlaneDegraded, isTrue, hyperv1.ContainerCrashedReason, "kube-apiserver: "+message)
	if v := w.hcp(t.Context()).Status.VersionStatus; v.History[0].State != configv1.PartialUpdate || v.History[0].Image != newer {
		t.Errorf("%+v", v)
	}

	delete(w.sick, names.KubeAPIServer)
	w.settle()
	if missing := w.ready(t.Context()); missing != "" {
		t.Error(missing)
	}
	w.says(hyperv1.HostedControlPlaneDegraded, isFalse, hyperv1.AsExpectedReason, "")
}

func TestIncompleteReleaseIsNotRolledOut(t *testing.T) {
	w := newTestEnv(t, controlPlane(hyperv1.SingleReplica))
	w.releases.Put(fakerelease.With(fakerelease.Kubernetes(older, "1.35.4"), func(r *release.Release) { delete(r.Components, names.KubeScheduler) }))
	w.settle()
	w.says(hyperv1.ValidReleaseInfo, isFalse, hyperv1.MissingReleaseImagesReason, "release 1.35.4 has no image for kube-scheduler")
	if got := w.pods(names.Etcd); len(got) != 0 {
		t.Errorf("etcd has pods: %v", got)
	}

	w.release(newer)
	w.settle()
	if missing := w.ready(t.Context()); missing != "" {
		t.Error(missing)
	}
}

func TestUnreachableRegistryIsRetried(t *testing.T) {
	w := newTestEnv(t, controlPlane(hyperv1.SingleReplica))
	w.releases.Fail(older, release.Unreachable, "no answer in time")
	pass := w.start()
	if err := pass(t.Context()); err == nil {
		t.Error("nobody will ask again")
	}
	w.says(hyperv1.ValidReleaseInfo, metav1.ConditionUnknown, hyperv1.RegistryUnreachableReason, "no answer in time")
	w.releases.Fail(older, "", "")
	w.settle()
	w.says(hyperv1.ValidReleaseInfo, isTrue, hyperv1.AsExpectedReason, "")

	w.releases.Fail(older, release.Unreachable, "no answer in time")
	_ = pass(t.Context())
	w.says(hyperv1.ValidReleaseInfo, isTrue, hyperv1.AsExpectedReason, "") // the release is not evaluated
}

func TestControlPlaneReleaseIsIndependent(t *testing.T) {
	w := newTestEnv(t, controlPlane(hyperv1.SingleReplica))
	w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ControlPlaneReleaseImage = ptr.To(newer) })
	w.settle()
	if got := w.pods(names.KubeScheduler); got["1.36.3"] != 1 {
		t.Errorf("pods run %v", got)
	}
	if v := w.hcp(t.Context()).Status.VersionStatus; v.History[0].Version != "1.35.4" || v.History[0].State != configv1.CompletedUpdate {
		t.Errorf("the cluster's own release: %+v", v)
	}
	w.ran("1.36.3")
}

// ran compares the reported version history of the control plane, newest first.
func (w *testEnv) ran(want ...string) {
	w.t.Helper()
	v := w.hcp(w.t.Context()).Status.ControlPlaneVersion
	if v == nil || len(v.History) != len(want) {
		w.t.Fatalf("control plane version %+v, want %v", v, want)
	}
	for i, version := range want {
		if v.History[i].Version != version || v.History[i].State != configv1.CompletedUpdate {
			w.t.Errorf("%d: %+v, want %s completed", i, v.History[i], version)
		}
	}
	if v.Desired.Version != want[0] || v.Desired.Image != v.History[0].Image {
		w.t.Errorf("desired %+v with history %+v", v.Desired, v.History)
	}
}

func TestControlPlaneVersionFollowsTheClusterRelease(t *testing.T) {
	w := up(t, hyperv1.SingleReplica)
	w.ran("1.35.4")
	w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ControlPlaneReleaseImage = ptr.To(newer) })
	w.settle()
	w.ran("1.36.3", "1.35.4")
	w.change(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.ReleaseImage, hcp.Spec.ControlPlaneReleaseImage = newer, nil
	})
	w.settle()
	w.ran("1.36.3", "1.35.4") // it ran that before
}

func TestPausedControlPlaneIsNotChanged(t *testing.T) {
	w := up(t, hyperv1.SingleReplica)
	w.change(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hcp.Spec.ReleaseImage = newer
	})
	w.settle()
	if got := w.pods(names.Etcd); got["1.36.3"] != 0 {
		t.Errorf("etcd runs %v", got)
	}
	w.wants(names.Etcd, hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.WaitingForDependenciesReason, "spec.pausedUntil stops changes")
	w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.PausedUntil = nil })
	w.settle()
	if missing := w.ready(t.Context()); missing != "" || w.pods(names.Etcd)["1.36.3"] != 1 {
		t.Errorf("it does not go on: %s", missing)
	}
}

func TestDeletedObjectsAreRecreated(t *testing.T) {
	w := up(t, hyperv1.SingleReplica)
	for _, obj := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: names.SchedulerKubeconfig}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: names.KubeScheduler}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: names.KubeControllerManager}},
		&hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Name: names.Etcd}},
	} {
		obj.SetNamespace("clusters-demo")
		w.must(w.Admin().Delete(t.Context(), obj))
		w.settle()
		w.must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
		if missing := w.ready(t.Context()); missing != "" {
			t.Errorf("after %T: %s", obj, missing)
		}
	}
}

func TestChangesRollOnlyAffectedComponents(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*testEnv)
		rolls  []string
	}{
		"a kubeconfig is read once": {
			func(w *testEnv) { w.rewrite(names.SchedulerKubeconfig) }, []string{names.KubeScheduler},
		},
		"a certificate is followed": {
			func(w *testEnv) { w.rewrite(names.APIServerCertificate) }, nil,
		},
		"the user asks for a restart": {
			func(w *testEnv) {
				w.change(func(hcp *hyperv1.HostedControlPlane) { hcp.Annotations[hyperv1.RestartDateAnnotation] = "now" })
			}, all,
		},
		"a profile of the scheduler": {
			func(w *testEnv) {
				w.change(func(hcp *hyperv1.HostedControlPlane) {
					hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Scheduler: &configv1.SchedulerSpec{Profile: configv1.NoScoring}}
				})
			}, []string{names.KubeScheduler},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := up(t, hyperv1.SingleReplica)
			before := map[string]string{}
			for _, c := range all {
				before[c] = w.revisions(c)
			}
			tc.change(w)
			w.settle()
			var rolled []string
			for _, c := range all {
				if w.revisions(c) != before[c] {
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
func (w *testEnv) rewrite(secret string) {
	w.t.Helper()
	s := &corev1.Secret{}
	w.must(w.Admin().Get(w.t.Context(), w.key(secret), s))
	s.Data["renewed"] = []byte("yes")
	w.must(w.Admin().Update(w.t.Context(), s))
}

// The only member reads it when it starts, and is not restarted for it.
func TestEtcdReadsFormedWithoutARestart(t *testing.T) {
	w := up(t, hyperv1.SingleReplica)
	before := w.revisions(names.Etcd)
	hcp := w.hcp(t.Context())
	hcp.Status.Initialization = &hyperv1.HostedControlPlaneInitialization{ControlPlaneInitialized: ptr.To(true)}
	w.must(w.Admin().Status().Update(t.Context(), hcp))
	w.settle()
	config := &corev1.ConfigMap{}
	w.must(w.Admin().Get(t.Context(), w.key("etcd-config"), config))
	if config.Data["formed"] != "true" || w.revisions(names.Etcd) != before {
		t.Errorf("formed is %q, and pods were %s and are %s", config.Data["formed"], before, w.revisions(names.Etcd))
	}
}

func TestEtcdIsAvailableWithAMajority(t *testing.T) {
	w := up(t, hyperv1.HighlyAvailable)
	for n, want := range []metav1.ConditionStatus{isTrue, isFalse} {
		pod := &corev1.Pod{}
		w.must(w.Admin().Get(t.Context(), w.key([]string{"etcd-0", "etcd-1"}[n]), pod))
		before := pod.DeepCopy()
		pod.Status = corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/3 nodes are available: 1 Insufficient memory, 2 Insufficient cpu. preemption: 0/3 nodes are available.",
		}}}
		w.publish(t.Context(), pod, before)
		sts := &appsv1.StatefulSet{}
		w.must(w.Admin().Get(t.Context(), w.key(names.Etcd), sts))
		sts.Status.ReadyReplicas--
		w.must(w.Admin().Status().Update(t.Context(), sts))
		w.must(w.start()(t.Context()))

		reason := hyperv1.AsExpectedReason
		if want == isFalse {
			reason = hyperv1.PodUnschedulableReason
		}
		w.wants(names.Etcd, hyperv1.ControlPlaneComponentAvailable, want, reason, "")
		w.wants(names.Etcd, hyperv1.ControlPlaneComponentRolloutComplete, isFalse, hyperv1.PodUnschedulableReason, "etcd-0: no node takes a pod: Insufficient cpu, Insufficient memory")
	}
	w.says(hyperv1.HostedControlPlaneDegraded, isTrue, hyperv1.PodUnschedulableReason, "etcd: etcd-0")
}

func TestUnmanagedEtcdNeedsNoComponent(t *testing.T) {
	hcp := controlPlane(hyperv1.SingleReplica)
	hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	hcp.Spec.Etcd.Unmanaged = &hyperv1.UnmanagedEtcdSpec{Endpoint: "https://etcd.example.com:2379", TLS: hyperv1.EtcdTLSConfig{ClientSecret: corev1.LocalObjectReference{Name: "etcd-client"}}}
	w := newTestEnv(t, hcp)
	w.releases.Put(fakerelease.With(fakerelease.Kubernetes(older, "1.35.4"), func(r *release.Release) { delete(r.Components, names.Etcd) }))
	w.settle()
	if w.component(names.Etcd) != nil || w.pods(names.KubeScheduler)["1.35.4"] != 1 {
		t.Errorf("etcd %v, scheduler %v", w.component(names.Etcd), w.pods(names.KubeScheduler))
	}
}

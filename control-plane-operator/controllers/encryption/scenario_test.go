package encryption

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// running is a cluster that encrypts with key one.
func running(t testing.TB) *fakeEtcd {
	e := newFakeEtcd(t)
	e.Must(e.others(t.Context()))
	e.want("one")
	e.Restart()
	e.settle()
	return e
}

func TestKeyChangesInStages(t *testing.T) {
	e := newFakeEtcd(t)
	e.Must(e.others(t.Context()))
	e.Restart()
	e.want("one")
	got := e.settle()
	if want := []string{hyperv1.ReadKeyRolloutReason, hyperv1.WriteKeyRolloutReason, hyperv1.ReencryptingReason}; !slices.Equal(got, want) {
		t.Errorf("encryption was added by %v, want %v", got, want)
	}
	e.encrypted("one")
	e.want("two")
	got = e.settle()
	if want := []string{hyperv1.ReadKeyRolloutReason, hyperv1.WriteKeyRolloutReason, hyperv1.ReencryptingReason, hyperv1.RetainingOldKeysReason, hyperv1.DroppingOldKeysReason}; !slices.Equal(got, want) {
		t.Errorf("the key changed by %v, want %v", got, want)
	}
	e.encrypted("two")
	st := e.HCP().Status.SecretEncryptionRecord
	if st.ActiveKey.Name != "two" || st.TargetKey != nil || st.History[0].From.Name != "one" || st.History[0].State != hyperv1.SecretEncryptionMigrationCompleted {
		t.Errorf("the status is %+v", st)
	}
}

func TestClusterIsCreatedWithAKey(t *testing.T) {
	e := newFakeEtcd(t)
	e.want("one")
	e.Restart()
	e.settle()
	e.encrypted("one")
}

func TestKeyThatChangesAgainDuringAChange(t *testing.T) {
	for _, reason := range []string{hyperv1.ReadKeyRolloutReason, hyperv1.WriteKeyRolloutReason, hyperv1.ReencryptingReason, hyperv1.RetainingOldKeysReason, hyperv1.DroppingOldKeysReason} {
		t.Run(reason, func(t *testing.T) {
			e := running(t)
			e.want("two")
			e.until(reason)
			e.want("three")
			e.settle()
			e.encrypted("three")
		})
	}
}

func (e *fakeEtcd) condition() *metav1.Condition {
	return meta.FindStatusCondition(e.HCP().Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
}

func (e *fakeEtcd) until(reason string) {
	e.T.Helper()
	for range 100 {
		e.Once()
		if e.condition().Reason == reason {
			return
		}
		e.Must(e.others(e.T.Context()))
		e.Clock.Step(20 * time.Second)
	}
	e.T.Fatalf("the reason never is %s, it is %+v", reason, e.condition())
}

// An API server with the old configuration serves for its last seconds.
func TestTerminatingAPIServerIsAwaited(t *testing.T) {
	e := running(t)
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kube-apiserver-old", Labels: map[string]string{"app": names.KubeAPIServer},
		Annotations: map[string]string{"keys": "one", kubeapiserver.EncryptionAnnotation: "before"}}}
	e.Create(old)
	e.want("two")
	for range 20 {
		e.Once()
		e.Must(e.others(t.Context()))
		e.Clock.Step(20 * time.Second)
	}
	if c := e.condition(); c.Reason != hyperv1.ReadKeyRolloutReason || !strings.Contains(c.Message, "waiting for 1 pods of kube-apiserver") {
		t.Errorf("the condition is %+v", c)
	}
	e.Delete(old)
	e.settle()
	e.encrypted("two")
}

func TestSecretThatCannotBeRewrittenKeepsTheOldKey(t *testing.T) {
	e := running(t)
	e.refuses["b"] = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "b", errors.New("a webhook does not like it"))
	e.want("two")
	e.until(hyperv1.ReencryptionFailedReason)
	if c := e.condition(); !strings.Contains(c.Message, "default/b") || !strings.Contains(c.Message, "a webhook does not like it") {
		t.Errorf("the condition is %+v", c)
	}
	e.Must(e.others(t.Context()))
	delete(e.refuses, "b")
	e.settle()
	e.encrypted("two")
}

// The configuration is deleted with its keys during a change.
func TestDeletedConfigurationIsRestoredWithAllKeys(t *testing.T) {
	e := running(t)
	e.want("two")
	e.until(hyperv1.WriteKeyRolloutReason)
	e.Must(e.others(t.Context()))
	e.Delete(testenv.Secret(kubeapiserver.EncryptionSecret, "", ""))
	e.settle()
	e.encrypted("two")
}

func TestMissingKeyIsReportedAndChangesNothing(t *testing.T) {
	e := running(t)
	e.want("two")
	e.until(hyperv1.WriteKeyRolloutReason)
	e.Must(e.others(t.Context()))
	e.Delete(testenv.Secret(kubeapiserver.EncryptionSecret, "", ""))
	e.Delete(testenv.Secret("copied-one", "", ""))
	e.until(hyperv1.EncryptionKeyMissingReason)
	if c := e.condition(); !strings.Contains(c.Message, "create the HostedCluster's Secret one again with the same 32 bytes") {
		t.Errorf("the condition is %+v", c)
	}
	if err := e.Admin().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: kubeapiserver.EncryptionSecret}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Error("a configuration without the key was written")
	}
	e.copyOf("one")
	e.settle()
	e.encrypted("two")
}

// Without a record and a configuration the current key is unknown.
func TestConfigurationDeletedBeforeTheRecordIsReported(t *testing.T) {
	e := running(t)
	hcp := e.HCP()
	hcp.Status.SecretEncryptionRecord = nil
	e.UpdateStatus(hcp)
	e.Delete(testenv.Secret(kubeapiserver.EncryptionSecret, "", ""))
	e.Restart()
	e.Once()
	if c := e.condition(); c.Status != metav1.ConditionFalse || c.Reason != hyperv1.EncryptionUnknownReason || e.HCP().Status.SecretEncryptionRecord != nil {
		t.Errorf("the condition is %+v", c)
	}
}

// Changed API servers may have used another key for rewritten Secrets.
func TestReencryptionCountsOnlyIfTheAPIServersStayTheSame(t *testing.T) {
	e := running(t)
	e.want("two")
	e.until(hyperv1.ReencryptingReason)
	e.refuses["b"] = apierrors.NewTooManyRequests("later", 1)
	_ = e.Try() // rewrites a part
	servers := testenv.Named(e.Env, names.KubeAPIServer, &appsv1.Deployment{})
	servers.Generation += 2
	e.Update(servers)
	e.etcd["a"] = "one" // by a short-lived API server
	delete(e.refuses, "b")
	e.settle()
	e.encrypted("two")
}

func TestPauseStopsTheStages(t *testing.T) {
	e := running(t)
	e.want("two")
	e.until(hyperv1.ReadKeyRolloutReason)
	hcp := e.HCP()
	hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
	e.Update(hcp)
	for range 5 {
		e.Must(e.others(t.Context()))
		e.Once()
		e.Clock.Step(time.Minute)
	}
	if c := e.condition(); c.Reason != hyperv1.ReadKeyRolloutReason || !strings.Contains(c.Message, "pausedUntil") {
		t.Errorf("the condition is %+v", c)
	}
}

// scenario is a change of the key. The user's deletion removes the objects of others.
func scenario(t testing.TB) *crashtest.Scenario {
	e := running(t)
	e.want("two")
	return &crashtest.Scenario{
		Cluster: e.Cluster, Start: e.startIfThere, Advance: e.Clock.Step,
		OtherControllers: func(ctx context.Context) error {
			if e.deleted(ctx) {
				return e.sweep(ctx)
			}
			return e.others(ctx)
		},
		Mask: func(text string) string { return text },
		Ready: func(ctx context.Context) string {
			if c := meta.FindStatusCondition(e.HCP().Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "two") {
				return c.Reason
			}
			e.encrypted("two")
			return ""
		},
		Delete: func(ctx context.Context) error {
			if e.deleted(ctx) {
				return nil
			}
			return e.Admin().Delete(ctx, e.HCP())
		},
	}
}

// deleted reports whether the HostedControlPlane is gone.
func (e *fakeEtcd) deleted(ctx context.Context) bool {
	e.T.Helper()
	list := &hyperv1.HostedControlPlaneList{}
	e.Must(e.Admin().List(ctx, list))
	return len(list.Items) == 0
}

// sweep deletes the objects that exist without the controller: all remaining objects are the controller's.
func (e *fakeEtcd) sweep(ctx context.Context) error {
	for _, obj := range []client.Object{&appsv1.Deployment{}, &corev1.Pod{}, &corev1.Secret{}} {
		if err := e.Admin().DeleteAllOf(ctx, obj, client.InNamespace(namespace)); err != nil {
			return err
		}
	}
	return nil
}

func (e *fakeEtcd) startIfThere() testenv.Pass {
	pass := e.start()
	return func(ctx context.Context) error {
		if e.deleted(ctx) {
			return nil
		}
		return pass(ctx)
	}
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, scenario) })
	t.Run("no leaks", func(t *testing.T) { crashtest.NoLeaks(t, scenario) })
}

func TestCrashConsistencyUnderFaults(t *testing.T) {
	crashtest.APIFaults(t, scenario)
}

// No API server has the configuration, so that no key may be dropped.
func TestASleepingControlPlaneCompletesNoStage(t *testing.T) {
	for replicas, want := range map[int32]bool{0: false, 2: true} {
		servers := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas)}}
		servers.Status = appsv1.DeploymentStatus{Replicas: replicas, UpdatedReplicas: replicas, AvailableReplicas: replicas}
		if got := complete(servers); got != want {
			t.Errorf("with %d replicas: %v, want %v", replicas, got, want)
		}
	}
}

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
)

// running is a cluster that encrypts with key one.
func running(t testing.TB) (*testEnv, func(context.Context) error) {
	w := newTestEnv(t)
	w.must(w.others(t.Context()))
	w.want("one")
	pass := w.start()
	w.settle(pass)
	return w, pass
}

func TestKeyChangesInStages(t *testing.T) {
	w := newTestEnv(t)
	w.must(w.others(t.Context()))
	pass := w.start()
	w.want("one")
	got := w.settle(pass)
	if want := []string{hyperv1.ReadKeyRolloutReason, hyperv1.WriteKeyRolloutReason, hyperv1.ReencryptingReason}; !slices.Equal(got, want) {
		t.Errorf("encryption was added by %v, want %v", got, want)
	}
	w.encrypted("one")
	w.want("two")
	got = w.settle(pass)
	if want := []string{hyperv1.ReadKeyRolloutReason, hyperv1.WriteKeyRolloutReason, hyperv1.ReencryptingReason, hyperv1.RetainingOldKeysReason, hyperv1.DroppingOldKeysReason}; !slices.Equal(got, want) {
		t.Errorf("the key changed by %v, want %v", got, want)
	}
	w.encrypted("two")
	st := w.hcp(t.Context()).Status.SecretEncryptionRecord
	if st.ActiveKey.Name != "two" || st.TargetKey != nil || st.History[0].From.Name != "one" || st.History[0].State != hyperv1.SecretEncryptionMigrationCompleted {
		t.Errorf("the status is %+v", st)
	}
}

func TestClusterIsCreatedWithAKey(t *testing.T) {
	w := newTestEnv(t)
	w.want("one")
	w.settle(w.start())
	w.encrypted("one")
}

func TestKeyThatChangesAgainDuringAChange(t *testing.T) {
	for _, reason := range []string{hyperv1.ReadKeyRolloutReason, hyperv1.WriteKeyRolloutReason, hyperv1.ReencryptingReason, hyperv1.RetainingOldKeysReason, hyperv1.DroppingOldKeysReason} {
		t.Run(reason, func(t *testing.T) {
			w, pass := running(t)
			w.want("two")
			w.until(pass, reason)
			w.want("three")
			w.settle(pass)
			w.encrypted("three")
		})
	}
}

func (w *testEnv) condition() *metav1.Condition {
	return meta.FindStatusCondition(w.hcp(w.t.Context()).Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate)
}

func (w *testEnv) until(pass func(context.Context) error, reason string) {
	w.t.Helper()
	for range 100 {
		w.must(pass(w.t.Context()))
		if w.condition().Reason == reason {
			return
		}
		w.must(w.others(w.t.Context()))
		w.clock.Step(20 * time.Second)
	}
	w.t.Fatalf("the reason never is %s, it is %+v", reason, w.condition())
}

// An API server with the old configuration serves for its last seconds.
func TestTerminatingAPIServerIsAwaited(t *testing.T) {
	w, pass := running(t)
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kube-apiserver-old", Labels: map[string]string{"app": names.KubeAPIServer},
		Annotations: map[string]string{"keys": "one", kubeapiserver.EncryptionAnnotation: "before"}}}
	w.Create(t, old)
	w.want("two")
	for range 20 {
		w.must(pass(t.Context()))
		w.must(w.others(t.Context()))
		w.clock.Step(20 * time.Second)
	}
	if c := w.condition(); c.Reason != hyperv1.ReadKeyRolloutReason || !strings.Contains(c.Message, "waiting for 1 pods of kube-apiserver") {
		t.Errorf("the condition is %+v", c)
	}
	w.must(w.Admin().Delete(t.Context(), old))
	w.settle(pass)
	w.encrypted("two")
}

func TestSecretThatCannotBeRewrittenKeepsTheOldKey(t *testing.T) {
	w, pass := running(t)
	w.refuses["b"] = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "b", errors.New("a webhook does not like it"))
	w.want("two")
	w.until(pass, hyperv1.ReencryptionFailedReason)
	if c := w.condition(); !strings.Contains(c.Message, "default/b") || !strings.Contains(c.Message, "a webhook does not like it") {
		t.Errorf("the condition is %+v", c)
	}
	w.must(w.others(t.Context()))
	delete(w.refuses, "b")
	w.settle(pass)
	w.encrypted("two")
}

// The configuration is deleted with its keys during a change.
func TestDeletedConfigurationIsRestoredWithAllKeys(t *testing.T) {
	w, pass := running(t)
	w.want("two")
	w.until(pass, hyperv1.WriteKeyRolloutReason)
	w.must(w.others(t.Context()))
	w.must(w.Admin().Delete(t.Context(), secret(kubeapiserver.EncryptionSecret, nil)))
	w.settle(pass)
	w.encrypted("two")
}

func TestMissingKeyIsReportedAndChangesNothing(t *testing.T) {
	w, pass := running(t)
	w.want("two")
	w.until(pass, hyperv1.WriteKeyRolloutReason)
	w.must(w.others(t.Context()))
	w.must(w.Admin().Delete(t.Context(), secret(kubeapiserver.EncryptionSecret, nil)))
	w.must(w.Admin().Delete(t.Context(), secret("copied-one", nil)))
	w.until(pass, hyperv1.EncryptionKeyMissingReason)
	if c := w.condition(); !strings.Contains(c.Message, "create the HostedCluster's Secret one again with the same 32 bytes") {
		t.Errorf("the condition is %+v", c)
	}
	if err := w.Admin().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: kubeapiserver.EncryptionSecret}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Error("a configuration without the key was written")
	}
	w.copyOf("one")
	w.settle(pass)
	w.encrypted("two")
}

// Without a record and a configuration the current key is unknown.
func TestConfigurationDeletedBeforeTheRecordIsReported(t *testing.T) {
	w, _ := running(t)
	hcp := w.hcp(t.Context())
	hcp.Status.SecretEncryptionRecord = nil
	w.must(w.Admin().Status().Update(t.Context(), hcp))
	w.must(w.Admin().Delete(t.Context(), secret(kubeapiserver.EncryptionSecret, nil)))
	w.must(w.start()(t.Context()))
	if c := w.condition(); c.Status != metav1.ConditionFalse || c.Reason != hyperv1.EncryptionUnknownReason || w.hcp(t.Context()).Status.SecretEncryptionRecord != nil {
		t.Errorf("the condition is %+v", c)
	}
}

// Changed API servers may have used another key for rewritten Secrets.
func TestReencryptionCountsOnlyIfTheAPIServersStayTheSame(t *testing.T) {
	w, pass := running(t)
	w.want("two")
	w.until(pass, hyperv1.ReencryptingReason)
	w.refuses["b"] = apierrors.NewTooManyRequests("later", 1)
	_ = pass(t.Context()) // rewrites a part
	servers := &appsv1.Deployment{}
	w.must(w.Admin().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: names.KubeAPIServer}, servers))
	servers.Generation += 2
	w.must(w.Admin().Update(t.Context(), servers))
	w.etcd["a"] = "one" // by a short-lived API server
	delete(w.refuses, "b")
	w.settle(pass)
	w.encrypted("two")
}

func TestPauseStopsTheStages(t *testing.T) {
	w, pass := running(t)
	w.want("two")
	w.until(pass, hyperv1.ReadKeyRolloutReason)
	hcp := w.hcp(t.Context())
	hcp.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
	w.must(w.Admin().Update(t.Context(), hcp))
	for range 5 {
		w.must(w.others(t.Context()))
		w.must(pass(t.Context()))
		w.clock.Step(time.Minute)
	}
	if c := w.condition(); c.Reason != hyperv1.ReadKeyRolloutReason || !strings.Contains(c.Message, "pausedUntil") {
		t.Errorf("the condition is %+v", c)
	}
}

// scenario is a change of the key. The user's deletion removes the objects of others.
func scenario(t testing.TB) *crashtest.Scenario {
	w, _ := running(t)
	w.want("two")
	return &crashtest.Scenario{
		Cluster: w.Cluster, Start: w.startIfThere, Advance: w.clock.Step,
		OtherControllers: func(ctx context.Context) error {
			if w.deleted(ctx) {
				return w.sweep(ctx)
			}
			return w.others(ctx)
		},
		Mask: func(text string) string { return text },
		Ready: func(ctx context.Context) string {
			if c := meta.FindStatusCondition(w.hcp(ctx).Status.Conditions, hyperv1.EtcdDataEncryptionUpToDate); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "two") {
				return c.Reason
			}
			w.encrypted("two")
			return ""
		},
		Delete: func(ctx context.Context) error {
			if w.deleted(ctx) {
				return nil
			}
			return w.Admin().Delete(ctx, w.hcp(ctx))
		},
	}
}

// deleted reports whether the HostedControlPlane is gone.
func (w *testEnv) deleted(ctx context.Context) bool {
	w.t.Helper()
	list := &hyperv1.HostedControlPlaneList{}
	w.must(w.Admin().List(ctx, list))
	return len(list.Items) == 0
}

// sweep deletes the objects that exist without the controller: all remaining objects are the controller's.
func (w *testEnv) sweep(ctx context.Context) error {
	for _, obj := range []client.Object{&appsv1.Deployment{}, &corev1.Pod{}, &corev1.Secret{}} {
		if err := w.Admin().DeleteAllOf(ctx, obj, client.InNamespace(namespace)); err != nil {
			return err
		}
	}
	return nil
}

func (w *testEnv) startIfThere() func(context.Context) error {
	pass := w.start()
	return func(ctx context.Context) error {
		if w.deleted(ctx) {
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

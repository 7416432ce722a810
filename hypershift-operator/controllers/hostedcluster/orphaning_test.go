package hostedcluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// orphanAfter is the default of the period after which resources are orphaned.
const orphanAfter = 10 * time.Minute

const (
	endpointLeft  = "VPC endpoint vpce-1, security group sg-1, records api.demo.hypershift.local of hosted zone Z1"
	documentsLeft = "OIDC documents s3://documents/demo-x in region us-east-1"
)

func (w *testEnv) remove(t *testing.T, obj client.Object) {
	t.Helper()
	if err := w.Admin().Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func (w *testEnv) wantGone(t *testing.T, want bool) {
	t.Helper()
	if _, err := w.get(t.Context()); apierrors.IsNotFound(err) != want {
		t.Fatalf("gone is %v, want %v (%v)", !want, want, err)
	}
}

func TestResourcesAreOrphanedAfterTheIdentityWasRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		identity metav1.ConditionStatus
		waited   time.Duration
		down     string
		gone     bool
	}{
		"AWS has refused us for long":                      {metav1.ConditionFalse, 11 * time.Minute, "", true},
		"AWS has refused us for a moment":                  {metav1.ConditionFalse, 5 * time.Minute, "", false},
		"nobody knows, and that never gives up":            {metav1.ConditionUnknown, 24 * time.Hour, "", false},
		"AWS takes us, and the operator is behind":         {metav1.ConditionTrue, 24 * time.Hour, "", false},
		"AWS refused us once, and nobody asks it any more": {metav1.ConditionFalse, 24 * time.Hour, "no such image", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			pass := w.start()
			w.run(t, pass, 4)
			w.refused, w.down = true, tc.down
			w.identity(t, tc.identity)
			w.remove(t, privateCluster())
			w.run(t, pass, 2)
			w.clock.Step(tc.waited)
			w.run(t, pass, 8)
			w.wantGone(t, tc.gone)
			if tc.gone {
				w.wantEvent(t, "CloudResourcesLeftBehind", endpointLeft)
			}
			if tc.down != "" {
				w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "the control-plane-operator does not run: Deployment clusters-demo/control-plane-operator: Counted: no such image")
				w.want(t, hyperv1.ValidAWSIdentityProvider, metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, "")
			}
		})
	}
}

// An answer from before the control-plane-operator went away is no answer.
func TestARestartedOperatorHasTimeToCheckTheIdentity(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.refused, w.down = true, "no such image"
	w.identity(t, metav1.ConditionFalse)
	w.remove(t, privateCluster())
	w.run(t, pass, 2)
	w.clock.Step(time.Hour)
	w.run(t, pass, 2)
	w.down = ""
	w.run(t, pass, 4)
	es := &hyperv1.AWSEndpointService{}
	if !w.exists(t, es, w.object("private-router")) || !slices.Contains(es.Finalizers, hyperv1.ControlPlaneOperatorFinalizer) {
		t.Error("given up on an answer from before")
	}
	w.run(t, pass, 12)
	w.wantGone(t, true)
}

func TestOrphanedResourcesAreReportedUntilTheEnd(t *testing.T) {
	w := newTestEnv(t)
	w.change(t, func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.DestroyGracePeriodAnnotation: "24h"}
	})
	pass := w.start()
	w.run(t, pass, 4)
	w.refused = true
	w.identity(t, metav1.ConditionFalse)
	w.remove(t, privateCluster())
	w.run(t, pass, 2)
	hc, err := w.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(hc.Status.Waits, func(wait hyperv1.WaitStatus) bool { return wait.Cause == hyperv1.WaitForAWSIdentity }) {
		t.Errorf("the status does not record the rejection: %v", hc.Status.Waits)
	}
	w.clock.Step(11 * time.Minute)
	w.run(t, pass, 8)
	w.want(t, hyperv1.HostedClusterDestroyed, metav1.ConditionTrue, hyperv1.WaitingForGracePeriodReason, "")
	w.want(t, hyperv1.CloudResourcesDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesCleanupSkippedReason, "left behind: "+endpointLeft)
	if hc, err = w.get(t.Context()); err != nil || len(hc.Status.LeftBehind) != 3 || hc.Status.LeftBehind[0].ID != "vpce-1" {
		t.Errorf("the status lists %v (%v)", hc.Status.LeftBehind, err)
	}
}

func TestDocumentsOfAnotherBucket(t *testing.T) {
	for name, other := range map[string]string{"another bucket": "other", "no bucket": ""} {
		t.Run("deletion waits for the operator to be started without "+name+", and then gives up", func(t *testing.T) {
			w := newTestEnv(t)
			w.cloud.Account(provider).AddBucket(region, "other")
			w.run(t, w.start(), 4)
			w.bucket = other
			pass := w.start()
			w.remove(t, privateCluster())
			w.run(t, pass, 8)
			w.wantGone(t, false)
			w.want(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesRemainingReason, "s3://documents/demo-x in region us-east-1 cannot be removed")
			w.clock.Step(11 * time.Minute)
			w.run(t, pass, 4)
			w.wantGone(t, true)
			w.wantEvent(t, "CloudResourcesLeftBehind", documentsLeft)
		})
		t.Run("an operator that comes back from "+name+" removes them", func(t *testing.T) {
			w := newTestEnv(t)
			w.cloud.Account(provider).AddBucket(region, "other")
			w.run(t, w.start(), 4)
			w.bucket = other
			w.remove(t, privateCluster())
			w.run(t, w.start(), 8)
			w.bucket = bucket
			w.run(t, w.start(), 4)
			w.wantGone(t, true)
			if _, ok := w.cloud.Object(bucket, "demo-x/"+webidentity.JWKSPath); ok {
				t.Error("the documents are still there")
			}
		})
	}
	t.Run("where they will be is written down before they are there", func(t *testing.T) {
		w := newTestEnv(t)
		w.run(t, w.start(), 1)
		log := w.Calls.Log(0)
		recorded := slices.IndexFunc(log, func(l string) bool { return strings.HasPrefix(l, "apply status HostedCluster") })
		published := slices.Index(log, "aws PutObject")
		if recorded < 0 || published < 0 || recorded > published {
			t.Errorf("got %q", log)
		}
	})
	t.Run("a living cluster says so, and nothing is published elsewhere", func(t *testing.T) {
		w := newTestEnv(t)
		w.cloud.Account(provider).AddBucket(region, "other")
		w.run(t, w.start(), 4)
		w.bucket = "other"
		w.run(t, w.start(), 2)
		w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.OIDCStorageMissingReason, "s3://documents/demo-x in region us-east-1")
		if _, ok := w.cloud.Object("other", "demo-x/"+webidentity.JWKSPath); ok {
			t.Error("documents were published where nobody looks for them")
		}
	})
}

// Whoever deletes parts of a cluster that is being deleted does not stop it.
func TestDeletionKeepsTheOperatorRunning(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.remove(t, privateCluster())
	w.remove(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.ControlPlaneOperator}})
	for _, name := range []string{names.ServiceAccountSigningKey, names.PullSecret} {
		w.remove(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: name}})
	}
	if err := pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, obj := range map[string]client.Object{
		names.ServiceAccountSigningKey: &corev1.Secret{}, names.PullSecret: &corev1.Secret{}, names.ControlPlaneOperator: &appsv1.Deployment{},
	} {
		if !w.exists(t, obj, w.object(name)) {
			t.Errorf("%T %s was not brought back", obj, name)
		}
	}
	w.run(t, pass, 10)
	w.wantGone(t, true)
}

// A pod that runs when the namespace is deleted delays its deletion.
func TestTheOperatorIsStoppedBeforeTheNamespaceIsDeleted(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.remove(t, privateCluster())
	w.run(t, pass, 10)
	w.wantGone(t, true)
	log := w.Calls.Log(0)
	deleted := func(kind, name string) int {
		return slices.IndexFunc(log, func(l string) bool {
			return strings.HasPrefix(l, "delete ") && strings.Contains(l, kind) && strings.HasSuffix(l, name)
		})
	}
	operator, ns := deleted("Deployment", names.ControlPlaneOperator), deleted("Namespace", plane)
	if operator < 0 || ns < operator {
		t.Errorf("the operator is deleted by write %d, the namespace by write %d: %q", operator, ns, log)
	}
}

func TestErrorsOfRetentionAreReported(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.refused = true
	w.remove(t, privateCluster())
	w.remove(t, pullSecret())
	w.remove(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.PullSecret}})
	w.run(t, pass, 4)
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "the pull secret: Secret my-pull-secret, which spec.pullSecret names, does not exist")
}

func TestADeletedNamespaceIsAwaitedAndCreatedAgain(t *testing.T) {
	begin := func(t *testing.T) (*testEnv, func()) {
		w := newTestEnv(t)
		pass := w.start()
		w.run(t, pass, 4)
		w.remove(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plane}})
		if err := w.CollectGarbage(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w, func() { w.run(t, pass, 6) }
	}
	t.Run("is made again, after the period, and what was left is named", func(t *testing.T) {
		w, run := begin(t)
		run()
		w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.NamespaceInUseReason, "what only that could take away is left behind, and named, 10m0s later")
		w.clock.Step(11 * time.Minute)
		run()
		w.wantEvent(t, "CloudResourcesLeftBehind", endpointLeft)
		w.want(t, hyperv1.CloudResourcesDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesCleanupSkippedReason, endpointLeft)
		w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	})
	t.Run("does not keep the cluster from being deleted", func(t *testing.T) {
		w, run := begin(t)
		w.remove(t, privateCluster())
		run()
		w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "the namespace was deleted with the control-plane-operator in it")
		w.clock.Step(11 * time.Minute)
		run()
		w.wantGone(t, true)
		w.wantEvent(t, "CloudResourcesLeftBehind", endpointLeft)
	})
}

package hostedcluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// orphanAfter is the default of the period after which resources are orphaned.
const orphanAfter = 10 * time.Minute

const (
	endpointLeft  = "VPC endpoint vpce-1, security group sg-1, records api.demo.hypershift.local of hosted zone Z1"
	documentsLeft = "OIDC documents s3://documents/demo-x in region us-east-1"
)

func (e *managementCluster) wantGone(want bool) {
	e.T.Helper()
	if e.Exists(privateCluster()) == want {
		e.T.Fatalf("gone is %v, want %v", !want, want)
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
			e := newManagementCluster(t)
			e.Run(4)
			e.refused, e.down = true, tc.down
			e.identity(tc.identity)
			e.Delete(privateCluster())
			e.Run(2)
			e.Clock.Step(tc.waited)
			e.Run(8)
			e.wantGone(tc.gone)
			if tc.gone {
				e.wantEvent("CloudResourcesLeftBehind", endpointLeft)
			}
			if tc.down != "" {
				e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "the control-plane-operator does not run: Deployment clusters-demo/control-plane-operator: Counted: no such image")
				e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionUnknown, hyperv1.ControlPlaneOperatorNotRunningReason, "")
			}
		})
	}
}

// An answer from before the control-plane-operator went away is no answer.
func TestARestartedOperatorHasTimeToCheckTheIdentity(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.refused, e.down = true, "no such image"
	e.identity(metav1.ConditionFalse)
	e.Delete(privateCluster())
	e.Run(2)
	e.Clock.Step(time.Hour)
	e.Run(2)
	e.down = ""
	e.Run(4)
	es := &hyperv1.AWSEndpointService{}
	if !e.Has(es, "private-router") || !slices.Contains(es.Finalizers, hyperv1.ControlPlaneOperatorFinalizer) {
		t.Error("given up on an answer from before")
	}
	e.Run(12)
	e.wantGone(true)
}

func TestOrphanedResourcesAreReportedUntilTheEnd(t *testing.T) {
	e := newManagementCluster(t)
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.DestroyGracePeriodAnnotation: "24h"}
	})
	e.Restart()
	e.Run(4)
	e.refused = true
	e.identity(metav1.ConditionFalse)
	e.Delete(privateCluster())
	e.Run(2)
	hc := e.hc()
	if !slices.ContainsFunc(hc.Status.Waits, func(wait hyperv1.WaitStatus) bool { return wait.Cause == hyperv1.WaitForAWSIdentity }) {
		t.Errorf("the status does not record the rejection: %v", hc.Status.Waits)
	}
	e.Clock.Step(11 * time.Minute)
	e.Run(8)
	e.ExpectCondition(hyperv1.HostedClusterDestroyed, metav1.ConditionTrue, hyperv1.WaitingForGracePeriodReason, "")
	e.ExpectCondition(hyperv1.CloudResourcesDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesCleanupSkippedReason, "left behind: "+endpointLeft)
	if hc = e.hc(); len(hc.Status.LeftBehind) != 3 || hc.Status.LeftBehind[0].ID != "vpce-1" {
		t.Errorf("the status lists %v", hc.Status.LeftBehind)
	}
}

func TestDocumentsOfAnotherBucket(t *testing.T) {
	for name, other := range map[string]string{"another bucket": "other", "no bucket": ""} {
		t.Run("deletion waits for the operator to be started without "+name+", and then gives up", func(t *testing.T) {
			e := newManagementCluster(t)
			e.AWS.Account(provider).AddBucket(region, "other")
			e.Restart()
			e.Run(4)
			e.bucket = other
			e.Restart()
			e.Delete(privateCluster())
			e.Run(8)
			e.wantGone(false)
			e.ExpectCondition(hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesRemainingReason, "s3://documents/demo-x in region us-east-1 cannot be removed")
			e.Clock.Step(11 * time.Minute)
			e.Run(4)
			e.wantGone(true)
			e.wantEvent("CloudResourcesLeftBehind", documentsLeft)
		})
		t.Run("an operator that comes back from "+name+" removes them", func(t *testing.T) {
			e := newManagementCluster(t)
			e.AWS.Account(provider).AddBucket(region, "other")
			e.Restart()
			e.Run(4)
			e.bucket = other
			e.Delete(privateCluster())
			e.Restart()
			e.Run(8)
			e.bucket = bucket
			e.Restart()
			e.Run(4)
			e.wantGone(true)
			if _, ok := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath); ok {
				t.Error("the documents are still there")
			}
		})
	}
	t.Run("where they will be is written down before they are there", func(t *testing.T) {
		e := newManagementCluster(t)
		e.Run(1)
		log := e.Calls.Log(0)
		recorded := slices.IndexFunc(log, func(l string) bool { return strings.HasPrefix(l, "apply status HostedCluster") })
		published := slices.Index(log, "aws PutObject")
		if recorded < 0 || published < 0 || recorded > published {
			t.Errorf("got %q", log)
		}
	})
	t.Run("a living cluster says so, and nothing is published elsewhere", func(t *testing.T) {
		e := newManagementCluster(t)
		e.AWS.Account(provider).AddBucket(region, "other")
		e.Restart()
		e.Run(4)
		e.bucket = "other"
		e.Restart()
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.OIDCStorageMissingReason, "s3://documents/demo-x in region us-east-1")
		if _, ok := e.AWS.Object("other", "demo-x/"+webidentity.JWKSPath); ok {
			t.Error("documents were published where nobody looks for them")
		}
	})
}

// Whoever deletes parts of a cluster that is being deleted does not stop it.
func TestDeletionKeepsTheOperatorRunning(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.Delete(privateCluster())
	e.Delete(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.ControlPlaneOperator}})
	for _, name := range []string{names.ServiceAccountSigningKey, names.PullSecret} {
		e.Delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: name}})
	}
	e.Must(e.Try())
	for name, obj := range map[string]client.Object{
		names.ServiceAccountSigningKey: &corev1.Secret{}, names.PullSecret: &corev1.Secret{}, names.ControlPlaneOperator: &appsv1.Deployment{},
	} {
		if !e.Has(obj, name) {
			t.Errorf("%T %s was not brought back", obj, name)
		}
	}
	e.Run(10)
	e.wantGone(true)
}

// A pod that runs when the namespace is deleted delays its deletion.
func TestTheOperatorIsStoppedBeforeTheNamespaceIsDeleted(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.Delete(privateCluster())
	e.Run(10)
	e.wantGone(true)
	log := e.Calls.Log(0)
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
	e := newManagementCluster(t)
	e.Run(4)
	e.refused = true
	e.Delete(privateCluster())
	e.Delete(testenv.PullSecret())
	e.Delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.PullSecret}})
	e.Run(4)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "the pull secret: Secret my-pull-secret, which spec.pullSecret names, does not exist")
}

func TestADeletedNamespaceIsAwaitedAndCreatedAgain(t *testing.T) {
	begin := func(t *testing.T) (*managementCluster, func()) {
		e := newManagementCluster(t)
		e.Run(4)
		e.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plane}})
		e.Must(e.CollectGarbage(t.Context()))
		return e, func() { e.Run(6) }
	}
	t.Run("is made again, after the period, and what was left is named", func(t *testing.T) {
		e, run := begin(t)
		run()
		e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.NamespaceInUseReason, "what only that could take away is left behind, and named, 10m0s later")
		e.Clock.Step(11 * time.Minute)
		run()
		e.wantEvent("CloudResourcesLeftBehind", endpointLeft)
		e.ExpectCondition(hyperv1.CloudResourcesDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesCleanupSkippedReason, endpointLeft)
		e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	})
	t.Run("does not keep the cluster from being deleted", func(t *testing.T) {
		e, run := begin(t)
		e.Delete(privateCluster())
		run()
		e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "the namespace was deleted with the control-plane-operator in it")
		e.Clock.Step(11 * time.Minute)
		run()
		e.wantGone(true)
		e.wantEvent("CloudResourcesLeftBehind", endpointLeft)
	})
}

package hostedcluster

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// Another management cluster has the machines, and AWS trusts the OIDC documents. A pod of a controller that could terminate instances still
// runs when the deletion begins.
func TestDeletionOfAHandedOverClusterLeavesWhatTheOtherSideNeeds(t *testing.T) {
	e := newManagementCluster(t)
	e.created = []hyperv1.LeftBehindResource{{Service: "ELB", ID: "a1"}}
	e.Run(10)
	if !e.Has(&infrav1.AWSMachine{}, "workers-1") {
		t.Fatal("there is no machine")
	}
	documents := e.AWSLines("openid")
	if len(documents) == 0 {
		t.Fatalf("there are no documents:\n%s", e.AWS.Snapshot())
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "cluster-api-1", Labels: map[string]string{"app": names.ClusterAPI}}}
	pod.Spec.Containers = []corev1.Container{{Name: "manager", Image: "example.com/capi"}}
	e.Create(pod)
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.HandedOverAnnotation: "true", hyperv1.SleepAnnotation: "true"}
		hc.Finalizers = append(hc.Finalizers, hyperv1.LastBackupFinalizer)
	})
	e.Delete(privateCluster())
	e.Run(4)
	hcp := testenv.Read(e.Env, &hyperv1.HostedControlPlane{ObjectMeta: testenv.In(plane, "demo")})
	if !hcp.IsHandedOver() {
		t.Error("the control-plane-operator is not told")
	}
	if e.Has(&appsv1.Deployment{}, names.ClusterAPI) || !e.Has(&infrav1.AWSMachine{}, "workers-1") {
		t.Error("the machines are touched before their controllers have stopped")
	}
	e.ExpectConditionText(hyperv1.HostedClusterDestroyed, "False Deleting: waiting until the controllers of machines, which are handed over, have stopped")
	e.Must(e.Admin().Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	e.Run(12)
	e.wantGone(true)
	if e.terminated > 0 || e.Has(&infrav1.AWSMachine{}, "workers-1") || e.Has(&clusterv1.Machine{}, "workers-1") {
		t.Errorf("%d instances were terminated, or the objects of machines are left", e.terminated)
	}
	if now := e.AWSLines("openid"); !slices.Equal(now, documents) {
		t.Errorf("the documents are %q, and were %q", now, documents)
	}
}

// The operator is killed after each write. No instance is terminated.
func TestHandoverSurvivesCrashes(t *testing.T) {
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := newManagementCluster(t)
		s := e.scenario()
		others, deleted := s.OtherControllers, false
		s.OtherControllers = func(ctx context.Context) error {
			if !deleted && e.existsIn(ctx, &clusterv1.Machine{}, client.ObjectKey{Namespace: plane, Name: "workers-1"}) {
				deleted = true
				e.change(func(hc *hyperv1.HostedCluster) {
					hc.Annotations = map[string]string{hyperv1.HandedOverAnnotation: "true"}
				})
				if err := e.Admin().Delete(ctx, privateCluster()); err != nil {
					return err
				}
			}
			return others(ctx)
		}
		s.Ready = func(ctx context.Context) string {
			switch {
			case e.terminated > 0:
				return "an instance was terminated"
			case e.existsIn(ctx, privateCluster(), client.ObjectKeyFromObject(privateCluster())):
				return "the HostedCluster exists"
			}
			return ""
		}
		return s
	})
}

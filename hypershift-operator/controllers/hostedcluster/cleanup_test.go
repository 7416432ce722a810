package hostedcluster

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func TestDeletionWaitsForTheHostedClusterToCleanUp(t *testing.T) {
	for name, tc := range map[string]struct {
		api    *metav1.Condition // what is said of the hosted API server; nil for one that was never there
		answer *metav1.Condition // what the control plane says when it is asked
		waits  bool
		event  string
	}{
		"which never ran": {waits: false},
		"which this version does not deploy": {
			api: &metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.NotDeployedReason}, waits: false,
		},
		"and which says when it is done": {
			api: &metav1.Condition{Status: metav1.ConditionTrue}, answer: &metav1.Condition{Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}, waits: false,
		},
		"and names what it could not": {
			api: &metav1.Condition{Status: metav1.ConditionTrue}, answer: &metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.CloudResourcesRemainingReason, Message: "load balancer a1"},
			waits: true, event: "left behind: load balancer a1",
		},
		"and says where to look if nobody answers": {
			api:   &metav1.Condition{Status: metav1.ConditionUnknown, Reason: "Timeout", Message: "no answer"},
			waits: true, event: "the hosted API server does not answer (no answer); left behind: what carries the tag kubernetes.io/cluster/demo-x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyTestEnv(t)
			hc := privateCluster()
			hc.Annotations = map[string]string{hyperv1.CleanupCloudResourcesAnnotation: "true"}
			w.Create(t, pullSecret(), hc)
			pass := w.start()
			w.run(t, pass, 3)
			w.updateControlPlaneStatus(t, func(st *hyperv1.HostedControlPlaneStatus) {
				meta.RemoveStatusCondition(&st.Conditions, hyperv1.KubeAPIServerAvailable)
				for of, c := range map[string]*metav1.Condition{hyperv1.KubeAPIServerAvailable: tc.api, hyperv1.CloudResourcesDestroyed: tc.answer} {
					if c != nil {
						c.Type = of
						reconcile.SetCondition(&st.Conditions, *c, w.clock.Now())
					}
				}
			})
			if err := w.Admin().Delete(t.Context(), hc); err != nil {
				t.Fatal(err)
			}
			w.run(t, pass, 3)
			hcp := &hyperv1.HostedControlPlane{}
			going := !w.exists(t, hcp, w.object("demo")) || !hcp.DeletionTimestamp.IsZero()
			if going == tc.waits {
				t.Errorf("the control plane goes: %v, want waiting: %v", going, tc.waits)
			}
			if tc.waits {
				w.want(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesRemainingReason, "waiting for the hosted cluster to remove what it made in the cloud")
				if hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] != "true" || hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] != "true" {
					t.Error("nobody was asked")
				}
				w.clock.Step(orphanAfter)
				w.run(t, pass, 1)
				w.wantEvent(t, "CloudResourcesLeftBehind", tc.event)
			}
			w.run(t, pass, 6)
			if _, err := w.get(context.Background()); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("the cluster is still there: %v", err)
			}
		})
	}
}

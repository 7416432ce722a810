package hostedcluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// A cluster that nobody can talk to is not available, however well it is connected,
// and on its way.
func TestAConnectedClusterWithoutAnAPIServerIsNotAvailable(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	b := &conditionBuilder{Conditions: reconcile.NewConditions(nil, 1, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), hc: hc}
	for _, n := range needed {
		b.Set(n.condition, metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
	}
	b.available(&scope{hc: hc}, nil)
	if !b.IsTrue(hyperv1.HostedClusterAvailable) {
		t.Fatal("not available although nothing is missing")
	}
	b.Set(hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, hyperv1.NotDeployedReason, "it does not run")
	b.available(&scope{hc: hc}, nil)
	for condition, want := range map[string]metav1.Condition{
		hyperv1.HostedClusterAvailable:   {Status: metav1.ConditionFalse, Reason: hyperv1.NotDeployedReason, Message: "KubeAPIServerAvailable: it does not run"},
		hyperv1.HostedClusterProgressing: {Status: metav1.ConditionTrue, Reason: hyperv1.ProgressingReason, Message: "KubeAPIServerAvailable: it does not run"},
	} {
		if got := b.Get(condition); got.Status != want.Status || got.Reason != want.Reason || got.Message != want.Message {
			t.Errorf("%s is %s %s %q", condition, got.Status, got.Reason, got.Message)
		}
	}
}

// What users and nodes cannot reach is not available, however well the API
// server is inside. Where that could not be checked, or is not, nothing is held
// against the cluster.
func TestAvailableIsJudgedWhereTheAPIServerIsPublished(t *testing.T) {
	for name, c := range map[string]struct {
		reachable metav1.ConditionStatus // "" for no condition
		want      metav1.ConditionStatus
	}{
		"it answers":                       {metav1.ConditionTrue, metav1.ConditionTrue},
		"it does not":                      {metav1.ConditionFalse, metav1.ConditionFalse},
		"it is out of reach from here":     {metav1.ConditionUnknown, metav1.ConditionTrue},
		"load balancers are not looked at": {"", metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			hc := &hyperv1.HostedCluster{}
			b := &conditionBuilder{Conditions: reconcile.NewConditions(nil, 1, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), hc: hc, behind: map[string]bool{}}
			for _, n := range needed {
				if b.needs(n) {
					b.Set(n.condition, metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
				}
			}
			if c.reachable != "" {
				b.Set(hyperv1.KubeAPIServerReachable, c.reachable, hyperv1.KubeAPIServerUnreachableReason, "Service router: gone")
			}
			b.available(&scope{hc: hc}, nil)
			got := b.Get(hyperv1.HostedClusterAvailable)
			if got.Status != c.want || c.want == metav1.ConditionFalse && got.Message != "KubeAPIServerReachable: Service router: gone" {
				t.Errorf("Available is %s: %s, want %s", got.Status, got.Message, c.want)
			}
		})
	}
}

func TestWhatADeletionWaitsFor(t *testing.T) {
	said := []metav1.Condition{
		{Type: hyperv1.AWSEndpointAvailable, Message: "waiting for vpce-1"},
		{Type: hyperv1.AWSEndpointServiceAvailable, Message: "waiting for vpce-svc-1"},
	}
	for name, tc := range map[string]struct {
		region     string
		finalizers []string
		want       string
	}{
		"first for the customer's half": {region, []string{hyperv1.HypershiftOperatorFinalizer, hyperv1.ControlPlaneOperatorFinalizer}, "waiting for vpce-1"},
		"then for ours":                 {region, []string{hyperv1.HypershiftOperatorFinalizer}, "waiting for vpce-svc-1"},
		"for an installation that makes no endpoint services, in vain": {"", []string{hyperv1.HypershiftOperatorFinalizer},
			"this installation cannot delete endpoint services: start the hypershift-operator with --private-platform=AWS"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Options: Options{PrivateRegion: tc.region}}
			es := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Finalizers: tc.finalizers}}
			es.Status.Conditions = said
			if got := r.progress(es); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

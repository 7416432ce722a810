package nodepool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func TestReconcilingAndStalled(t *testing.T) {
	blocked := reconcile.Report{
		{Step: "namespace", Err: reconcile.Wait(0, hyperv1.WaitingForReason, "soon")},
		{Step: "release", Condition: hyperv1.NodePoolValidReleaseImageCondition, Err: reconcile.Block(hyperv1.InvalidImageReason, "choose another")},
	}
	for name, c := range map[string]struct {
		conditions           map[string]metav1.ConditionStatus
		report               reconcile.Report
		deleting             bool
		reconciling, stalled string // "" for absent
	}{
		"a pool at rest":              {conditions: map[string]metav1.ConditionStatus{hyperv1.NodePoolUpdatingVersionCondition: metav1.ConditionFalse, hyperv1.NodePoolReconciliationActiveCondition: metav1.ConditionTrue}},
		"an update":                   {conditions: map[string]metav1.ConditionStatus{hyperv1.NodePoolUpdatingConfigCondition: metav1.ConditionTrue}, reconciling: "WhyUpdatingConfig: UpdatingConfig: of UpdatingConfig"},
		"what only takes time":        {report: blocked[:1]},
		"what only the user can help": {report: blocked, stalled: "InvalidImage: ValidReleaseImage: choose another"},
		"a pause":                     {conditions: map[string]metav1.ConditionStatus{hyperv1.NodePoolReconciliationActiveCondition: metav1.ConditionFalse}, stalled: "WhyReconciliationActive: ReconciliationActive: of ReconciliationActive"},
		"a deletion":                  {report: blocked, deleting: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{Spec: machines.Spec{Pool: &objects.Pool{NodePool: &hyperv1.NodePool{}}}}
			if c.deleting {
				s.NodePool.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			before := []metav1.Condition{
				{Type: hyperv1.NodePoolReconcilingCondition, Status: metav1.ConditionTrue, Reason: "Former"}, {Type: hyperv1.NodePoolStalledCondition, Status: metav1.ConditionTrue, Reason: "Former"},
			}
			b := conditionBuilder{reconcile.NewConditions(before, 1, time.Unix(1, 0))}
			for condition, status := range c.conditions {
				b.Set(condition, status, "Why"+condition, "of "+condition)
			}
			b.reconciling()
			b.stalled(s, c.report)
			for condition, want := range map[string]string{hyperv1.NodePoolReconcilingCondition: c.reconciling, hyperv1.NodePoolStalledCondition: c.stalled} {
				got := ""
				if is := b.Get(condition); is != nil {
					got = is.Reason + ": " + is.Message
				}
				if got != want {
					t.Errorf("%s is %q, want %q", condition, got, want)
				}
			}
		})
	}
}

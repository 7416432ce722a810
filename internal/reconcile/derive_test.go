package reconcile_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// summed is derived: it is True if the conditions A and B are.
const summed = "Summed"

func deriving(c client.Client) *store {
	s := newStore(c, c)
	s.Derive(func(_ *hyperv1.AWSEndpointService, conditions *reconcile.Conditions) {
		status := metav1.ConditionFalse
		if conditions.IsTrue("A") && conditions.IsTrue("B") {
			status = metav1.ConditionTrue
		}
		conditions.Set(summed, status, "", "")
	}, summed)
	return s
}

func TestDerivedConditionsChangeInTheSameWrite(t *testing.T) {
	w := newWorld(t)
	s := deriving(w.Client)
	a, b := s.Part(conditionPart("A")), s.Part(conditionPart("B"))
	for i, step := range []struct {
		part *part
		name string
		want metav1.ConditionStatus
	}{{a, "A", metav1.ConditionFalse}, {b, "B", metav1.ConditionTrue}} {
		mustWrite(t, report(step.part, w.read(t), step.name, ""))
		got := meta.FindStatusCondition(w.read(t).Status.Conditions, summed)
		if got == nil || got.Status != step.want {
			t.Errorf("after %s: %+v, want %s", step.name, got, step.want)
		}
		if w.count() != i+1 {
			t.Errorf("after %s: %d writes", step.name, w.count())
		}
	}
	// Without a change there is no write.
	mustWrite(t, a.Writer(w.read(t)))
	if w.count() != 2 {
		t.Errorf("%d writes, want 2", w.count())
	}
}

// The reconcile of a controller does not begin with a derived condition, which another write may change meanwhile.
func TestChangeOfADerivedConditionIsNoConflict(t *testing.T) {
	w := newWorld(t)
	s := deriving(w.Client)
	a, b := s.Part(conditionPart("A")), s.Part(conditionPart("B"))
	mustWrite(t, report(a, w.read(t), "A", ""))
	late := report(a, w.read(t), "A", "later")
	mustWrite(t, report(b, w.read(t), "B", ""))
	mustWrite(t, late)
	if !meta.IsStatusConditionTrue(w.read(t).Status.Conditions, summed) {
		t.Errorf("conditions: %+v", w.read(t).Status.Conditions)
	}
}

package reconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// FromReport is for the controllers that are no values of Controller yet.
func FromReport(report Report, classify Classifier, previous []metav1.Condition, generation int64, now time.Time) []metav1.Condition {
	c := NewConditions(previous, generation, now)
	c.Report(report, classify)
	return c.List()
}

// As is the report under a single condition: the first outcome that is not done.
func (r Report) As(condition string) Report { return Report{{Condition: condition, Err: r.Err()}} }

// Result is what a Reconcile returns.
func (r Report) Result(statusErr error) (ctrl.Result, error) { return r.result(statusErr) }

// RemoveConditions removes conditions from a list.
func RemoveConditions(list *[]metav1.Condition, conditionTypes ...string) {
	for _, t := range conditionTypes {
		meta.RemoveStatusCondition(list, t)
	}
}

// AsReconciler is that of controller-runtime.
func AsReconciler[T client.Object](c client.Client, r reconcile.ObjectReconciler[T]) Reconciler {
	return reconcile.AsReconciler(c, r)
}

package awsprivatelink

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// lostResync is the first interval between comparisons with AWS while the nodes do not respond.
const lostResync = time.Minute

// resyncPeriod is how often AWS is compared with the desired state. Nodes that do not respond may have lost their way
// through PrivateLink, which a manual change of AWS can cause. The comparison is then due at once, and again whenever the nodes have
// been lost for twice as long: nodes can be off for another reason, and calls of AWS are limited.
func (r *Reconciler) resyncPeriod(hcp *hyperv1.HostedControlPlane) time.Duration {
	lost := lostSince(hcp)
	if lost == nil {
		return r.ResyncPeriod
	}
	return min(r.ResyncPeriod, max(lostResync, r.Clock.Since(lost.Time)))
}

// lostSince returns since when no node responds, or nil.
func lostSince(hcp *hyperv1.HostedControlPlane) *metav1.Time {
	if hcp == nil {
		return nil
	}
	c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.DataPlaneConnectionAvailable)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return &c.LastTransitionTime
}

// connectionLost lets through the change with which the nodes stop to respond.
func connectionLost() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := lostSince(e.ObjectOld.(*hyperv1.HostedControlPlane)), lostSince(e.ObjectNew.(*hyperv1.HostedControlPlane))
		return after != nil && !reflect.DeepEqual(before, after)
	}}
}

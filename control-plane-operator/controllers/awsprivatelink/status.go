package awsprivatelink

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ourHalf is the part of the status that this operator writes.
func ourHalf(es *hyperv1.AWSEndpointService) any {
	half := hyperv1.AWSEndpointServiceStatus{
		EndpointID: es.Status.EndpointID, DNSNames: es.Status.DNSNames, DNSZoneID: es.Status.DNSZoneID,
		SecurityGroupID: es.Status.SecurityGroupID, Cleanup: es.Status.Cleanup, Creating: es.Status.Creating,
		TagKeys: es.Status.TagKeys,
	}
	if c := meta.FindStatusCondition(es.Status.Conditions, hyperv1.AWSEndpointAvailable); c != nil {
		half.Conditions = []metav1.Condition{*c}
	}
	return half
}

var judge = reconcile.Classifier{Transient: awsx.IsTransient, Reason: awsx.Reason, Message: awsx.Message}

// summarize turns all steps into the one condition that the user reads: what
// stands in the way first.
func (r *Reconciler) summarize(s *scope, report reconcile.Report) {
	now := r.Clock.Now()
	report = report.As(hyperv1.AWSEndpointAvailable)
	status := &s.es.Status
	status.Conditions = reconcile.FromReport(report, judge, status.Conditions, s.es.Generation, now)
	say := func(value metav1.ConditionStatus, reason, message string) {
		reconcile.SetCondition(&status.Conditions, metav1.Condition{
			Type: hyperv1.AWSEndpointAvailable, Status: value, Reason: reason, Message: message, ObservedGeneration: s.es.Generation,
		}, now)
	}
	switch {
	case report[0].Err != nil:
	case !s.es.DeletionTimestamp.IsZero():
		say(metav1.ConditionFalse, hyperv1.EndpointDeletedReason, "the VPC endpoint and all that belonged to it are gone")
	case len(s.subnets.unserved) > 0:
		say(metav1.ConditionTrue, hyperv1.ZonesNotServedReason, "Available; some subnets reach it through another zone, being "+s.subnets.gaps()[0])
	}
}

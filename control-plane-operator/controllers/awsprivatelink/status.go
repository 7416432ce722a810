package awsprivatelink

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// fields returns the fields of the status that this operator writes: all that the
// hypershift-operator does not.
func fields(es *hyperv1.AWSEndpointService) any {
	mine := es.Status
	mine.EndpointServiceName, mine.NetworkLoadBalancerARN, mine.AvailabilityZoneIDs, mine.Conditions = "", "", nil, nil
	return mine
}

// summarize completes the one condition that users read, which all steps determine together.
func summarize(s *scope, report reconcile.Report, conditions *reconcile.Conditions) {
	switch {
	case report.Err() != nil:
	case s.deleting():
		conditions.Set(hyperv1.AWSEndpointAvailable, metav1.ConditionFalse, hyperv1.EndpointDeletedReason, "the VPC endpoint and all that belonged to it are gone")
	case len(s.subnets.unserved) > 0:
		conditions.Set(hyperv1.AWSEndpointAvailable, metav1.ConditionTrue, hyperv1.ZonesNotServedReason,
			"Available; some subnets reach it through another zone, being "+s.subnets.gaps()[0])
	}
}

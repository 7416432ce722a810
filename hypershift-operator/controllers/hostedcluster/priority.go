package hostedcluster

import (
	"cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// controlPlanePriority is installed with the operator: config/scheduling.
const controlPlanePriority = "hypershift-control-plane"

// priorityClass is that of the pods which this operator runs for a control plane.
func priorityClass(hc *hyperv1.HostedCluster) string {
	return cmp.Or(hc.Annotations[hyperv1.ControlPlanePriorityClassAnnotation], controlPlanePriority)
}

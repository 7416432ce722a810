package hostedcluster

import (
	"cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// priorityClass returns the class of the pods that this operator runs for a control
// plane.
func priorityClass(hc *hyperv1.HostedCluster) string {
	return cmp.Or(hc.Annotations[hyperv1.ControlPlanePriorityClassAnnotation], component.ControlPlanePriority)
}

package clustertree

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// normallyFalse are the conditions that are normally False, by kind. All others are normally True.
var normallyFalse = map[string]map[string]bool{
	"HostedCluster": {
		hyperv1.HostedClusterProgressing:  true,
		hyperv1.HostedClusterDegraded:     true,
		hyperv1.HostedClusterStalled:      true,
		hyperv1.ClusterVersionProgressing: true,
	},
	"HostedControlPlane": {
		hyperv1.HostedControlPlaneDegraded: true,
		hyperv1.ClusterVersionProgressing:  true,
		clusterv1.PausedCondition:          true,
	},
	"NodePool": {
		hyperv1.NodePoolUpdatingConfigCondition:                  true,
		hyperv1.NodePoolUpdatingVersionCondition:                 true,
		hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition: true,
		hyperv1.NodePoolClusterNetworkCIDRConflictCondition:      true,
		hyperv1.NodePoolAWSResourceTagConflictCondition:          true,
		hyperv1.NodePoolReconcilingCondition:                     true,
		hyperv1.NodePoolStalledCondition:                         true,
		hyperv1.NodePoolDeletingCondition:                        true,
	},
	"Machine": {
		clusterv1.PausedCondition:          true,
		clusterv1.MachineDeletingCondition: true,
		clusterv1.MachineUpdatingCondition: true,
	},
}

// chosen are conditions of a NodePool that report a choice of its user, so that both statuses are normal.
var chosen = map[string]bool{
	hyperv1.NodePoolAutoscalingEnabledCondition: true,
	hyperv1.NodePoolAutorepairEnabledCondition:  true,
}

// notApplicable are reasons of conditions that are Unknown because there are no objects to observe.
var notApplicable = map[string]bool{
	hyperv1.NoNodesReason:            true,
	hyperv1.NoEndpointServicesReason: true,
}

// NormalStatus returns the status that a condition of a kind has if all is well.
func NormalStatus(kind, condition string) metav1.ConditionStatus {
	if normallyFalse[kind][condition] {
		return metav1.ConditionFalse
	}
	return metav1.ConditionTrue
}

// IsNormal is true for a condition of a kind whose status, or whose reason, is that of an object without problems.
func IsNormal(kind string, c metav1.Condition) bool {
	switch {
	case kind == "NodePool" && chosen[c.Type]:
		return c.Status != metav1.ConditionUnknown && c.Reason != hyperv1.NodePoolValidationFailedReason
	case c.Status == metav1.ConditionUnknown:
		return notApplicable[c.Reason]
	}
	return c.Status == NormalStatus(kind, c.Type)
}

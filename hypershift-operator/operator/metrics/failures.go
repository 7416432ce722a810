package metrics

import (
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterconditions"
)

const failureHelp = " by the conditions that are wrong: not_X where X is False and should be True, X where it is True and should be False. Unknown is not counted, nor is what a sleeping cluster cannot have."

var (
	clusterFailures = describe("hypershift_hostedclusters_failure_conditions", "HostedClusters,"+failureHelp, "platform", "condition")
	poolFailures    = describe("hypershift_nodepools_failure_conditions", "NodePools,"+failureHelp, "platform", "condition")
)

// healthyClusters are the statuses of conditions of a HostedCluster when all is well. Those about the course of a deletion are not
// among them.
var healthyClusters = clusterconditions.Healthy()

// healthyPools is the same for a NodePool. Whether it scales and repairs itself
// is a choice of its user.
var healthyPools = map[string]metav1.ConditionStatus{
	hyperv1.NodePoolReadyCondition:                     metav1.ConditionTrue,
	hyperv1.NodePoolUpdateManagementEnabledCondition:   metav1.ConditionTrue,
	hyperv1.NodePoolValidReleaseImageCondition:         metav1.ConditionTrue,
	hyperv1.NodePoolValidConfigurationCondition:        metav1.ConditionTrue,
	hyperv1.NodePoolSupportedFieldsCondition:           metav1.ConditionTrue,
	hyperv1.NodePoolValidArchPlatformCondition:         metav1.ConditionTrue,
	hyperv1.NodePoolReconciliationActiveCondition:      metav1.ConditionTrue,
	hyperv1.NodePoolSupportedVersionSkewCondition:      metav1.ConditionTrue,
	hyperv1.NodePoolValidMachineConfigCondition:        metav1.ConditionTrue,
	hyperv1.NodePoolValidTuningConfigCondition:         metav1.ConditionTrue,
	hyperv1.NodePoolValidGeneratedPayloadCondition:     metav1.ConditionTrue,
	hyperv1.NodePoolReachedIgnitionEndpointCondition:   metav1.ConditionTrue,
	hyperv1.NodePoolAllMachinesReadyCondition:          metav1.ConditionTrue,
	hyperv1.NodePoolAllNodesHealthyCondition:           metav1.ConditionTrue,
	hyperv1.NodePoolValidPlatformConfigCondition:       metav1.ConditionTrue,
	hyperv1.NodePoolValidPlatformImageCondition:        metav1.ConditionTrue,
	hyperv1.NodePoolAWSSecurityGroupAvailableCondition: metav1.ConditionTrue,
	hyperv1.NodePoolValidMachineTemplateCondition:      metav1.ConditionTrue,

	hyperv1.NodePoolUpdatingConfigCondition:                  metav1.ConditionFalse,
	hyperv1.NodePoolUpdatingVersionCondition:                 metav1.ConditionFalse,
	hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition: metav1.ConditionFalse,
	hyperv1.NodePoolClusterNetworkCIDRConflictCondition:      metav1.ConditionFalse,
	hyperv1.NodePoolAWSResourceTagConflictCondition:          metav1.ConditionFalse,
	hyperv1.NodePoolReconcilingCondition:                     metav1.ConditionFalse,
	hyperv1.NodePoolStalledCondition:                         metav1.ConditionFalse,
}

// A statement is a condition of either kind.
type statement struct {
	condition string
	status    metav1.ConditionStatus
	reason    string
	since     time.Time
}

func conditionsOf(list []metav1.Condition) iter.Seq[statement] {
	return func(yield func(statement) bool) {
		for i := range list {
			c := &list[i]
			if !yield(statement{c.Type, c.Status, c.Reason, c.LastTransitionTime.Time}) {
				return
			}
		}
	}
}

func poolConditionsOf(list []hyperv1.NodePoolCondition) iter.Seq[statement] {
	return func(yield func(statement) bool) {
		for i := range list {
			c := &list[i]
			if !yield(statement{c.Type, metav1.ConditionStatus(c.Status), c.Reason, c.LastTransitionTime.Time}) {
				return
			}
		}
	}
}

// failures counts objects, by platform and by failure.
type failures map[hyperv1.PlatformType]map[string]float64

// count adds an object. Each condition that could be wrong has a number, so that a repaired condition becomes 0 and does not vanish.
func (f failures) count(platform hyperv1.PlatformType, healthy map[string]metav1.ConditionStatus, statements iter.Seq[statement]) {
	n := f[platform]
	if n == nil {
		n = map[string]float64{}
		f[platform] = n
		for condition, good := range healthy {
			n[failure(condition, good)] = 0
		}
	}
	for s := range statements {
		good, judged := healthy[s.condition]
		if judged && s.status != good && s.status != metav1.ConditionUnknown && s.reason != hyperv1.AsleepReason {
			n[failure(s.condition, good)]++
		}
	}
}

func failure(condition string, good metav1.ConditionStatus) string {
	if good == metav1.ConditionTrue {
		return "not_" + condition
	}
	return condition
}

func (f failures) collect(out chan<- prometheus.Metric, desc *prometheus.Desc) {
	for platform, conditions := range f {
		for condition, n := range conditions {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, n, string(platform), condition)
		}
	}
}

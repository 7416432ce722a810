package doctor

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
)

// restrictions are conditions that report a change that is under way, or a restriction of a cluster that works.
var restrictions = []string{
	hyperv1.HostedClusterProgressing, hyperv1.ClusterVersionProgressing, hyperv1.SupportedFields, hyperv1.EndpointAccessUpToDate, hyperv1.AWSRolesIsolated,
	hyperv1.NetworkPoliciesEnforced, hyperv1.ReconciliationActive, hyperv1.ExternalDNSReachable,
	hyperv1.NodePoolUpdatingConfigCondition, hyperv1.NodePoolUpdatingVersionCondition, hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition,
	hyperv1.NodePoolReconcilingCondition, hyperv1.NodePoolDeletingCondition,
}

// conditions returns a result for each condition of a HostedCluster and its NodePools that is not normal.
func conditions(root *clustertree.Node) (results []prerequisites.Result) {
	for _, node := range slices.Concat([]*clustertree.Node{root}, root.Children) {
		if node.Kind != "HostedCluster" && node.Kind != "NodePool" {
			continue
		}
		for _, c := range node.Conditions {
			if c.Normal {
				continue
			}
			r := prerequisites.Result{
				Check: node.Kind + " " + node.Name + ", " + c.Type, Status: prerequisites.Failed,
				Message: cmp.Or(c.Message, string(c.Status)), Action: "docs/conditions.md, condition " + c.Type + ", reason " + cmp.Or(c.Reason, string(c.Status)),
			}
			switch {
			case c.Status == metav1.ConditionUnknown:
				r.Status = prerequisites.Unknown
			case slices.Contains(restrictions, c.Type):
				r.Status = prerequisites.Warning
			}
			results = append(results, r)
		}
	}
	return results
}

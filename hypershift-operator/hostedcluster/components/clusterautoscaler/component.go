// Package clusterautoscaler runs the cluster autoscaler of a hosted cluster. It watches the pods of the hosted cluster and sets
// the number of machines of the node pools with autoScaling:
//
//	pods, nodes of the hosted cluster ─► cluster-autoscaler ─► MachineDeployments of the namespace ─► Cluster API
//
// The annotations of a MachineDeployment, which the NodePool controller sets, have the bounds, and the capacity of a machine of a
// pool that has none.
package clusterautoscaler

import (
	"embed"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the cluster autoscaler.
var Component = component.Component[*controlplane.Target]{
	Name:   names.ClusterAutoscaler,
	Assets: assets,
	Adapters: []component.Adapter[*controlplane.Target]{
		component.On("deployment.yaml", adaptDeployment),
	},
}

func adaptDeployment(t *controlplane.Target, d *appsv1.Deployment) error {
	c := component.Container(&d.Spec.Template.Spec, names.ClusterAutoscaler)
	c.Args = append(c.Args, "--node-group-auto-discovery=clusterapi:namespace="+t.Name)
	c.Args = append(c.Args, flags(&t.Autoscaling)...)
	return nil
}

// expanders are the names of the strategies in the flag.
var expanders = map[hyperv1.ExpanderString]string{
	hyperv1.LeastWasteExpander: "least-waste",
	hyperv1.PriorityExpander:   "priority",
	hyperv1.RandomExpander:     "random",
}

// flags returns the settings of the user. Fields that are not set keep the default of the program, except for the expanders:
// without the ConfigMap with priorities, the second one decides.
func flags(a *hyperv1.ClusterAutoscaling) []string {
	var out []string
	number := func(flag string, value *int32) {
		if value != nil {
			out = append(out, fmt.Sprintf("--%s=%d", flag, *value))
		}
	}
	seconds := func(flag string, value *int32) {
		if value != nil {
			out = append(out, fmt.Sprintf("--%s=%ds", flag, *value))
		}
	}
	ratio := func(flag string, percent *int32) {
		if percent != nil {
			out = append(out, fmt.Sprintf("--%s=%.2f", flag, float64(*percent)/100))
		}
	}
	if len(a.Expanders) == 0 {
		out = append(out, "--expander=priority,least-waste")
	}
	for i, e := range a.Expanders {
		if i == 0 {
			out = append(out, "--expander="+expanders[e])
			continue
		}
		out[len(out)-1] += "," + expanders[e]
	}
	for _, label := range a.BalancingIgnoredLabels {
		out = append(out, "--balancing-ignore-label="+string(label))
	}
	number("max-nodes-total", a.MaxNodesTotal)
	number("max-graceful-termination-sec", a.MaxPodGracePeriod)
	if a.MaxNodeProvisionTime != "" {
		out = append(out, "--max-node-provision-time="+a.MaxNodeProvisionTime)
	}
	number("expendable-pods-priority-cutoff", a.PodPriorityThreshold)
	ratio("max-free-difference-ratio", a.MaxFreeDifferenceRatioPercent)
	if a.Scaling == hyperv1.ScaleUpOnly {
		return append(out, "--scale-down-enabled=false")
	}
	if d := a.ScaleDown; d != nil {
		seconds("scale-down-delay-after-add", d.DelayAfterAddSeconds)
		seconds("scale-down-delay-after-delete", d.DelayAfterDeleteSeconds)
		seconds("scale-down-delay-after-failure", d.DelayAfterFailureSeconds)
		seconds("scale-down-unneeded-time", d.UnneededDurationSeconds)
		ratio("scale-down-utilization-threshold", d.UtilizationThresholdPercent)
	}
	return out
}

package clusterautoscaler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestGolden(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = "clusters", "demo"
	objs, err := component.Render(Component, &controlplane.Target{
		Namespace: controlplane.NamespaceOf(hc),
		Images:    map[string]string{names.ClusterAutoscaler: "registry/cluster-autoscaler:1", controlplane.OperatorImage: "registry/control-plane-operator:1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	componenttest.Objects(t, "plain", objs)
}

func TestEveryFieldHasItsFlag(t *testing.T) {
	for name, tc := range map[string]struct {
		spec hyperv1.ClusterAutoscaling
		want []string
	}{
		"nothing is set": {hyperv1.ClusterAutoscaling{}, []string{"--expander=priority,least-waste"}},
		"everything is set": {
			hyperv1.ClusterAutoscaling{
				Scaling: hyperv1.ScaleUpAndScaleDown,
				ScaleDown: &hyperv1.ScaleDownConfig{
					DelayAfterAddSeconds: ptr.To[int32](1), DelayAfterDeleteSeconds: ptr.To[int32](2), DelayAfterFailureSeconds: ptr.To[int32](3),
					UnneededDurationSeconds: ptr.To[int32](4), UtilizationThresholdPercent: ptr.To[int32](5),
				},
				BalancingIgnoredLabels: []hyperv1.LabelKey{"a", "example.com/b"}, MaxNodesTotal: ptr.To[int32](6), MaxPodGracePeriod: ptr.To[int32](0),
				MaxNodeProvisionTime: "15m", PodPriorityThreshold: ptr.To[int32](-8), MaxFreeDifferenceRatioPercent: ptr.To[int32](100),
				Expanders: []hyperv1.ExpanderString{hyperv1.LeastWasteExpander, hyperv1.PriorityExpander, hyperv1.RandomExpander},
			},
			[]string{
				"--expander=least-waste,priority,random", "--balancing-ignore-label=a", "--balancing-ignore-label=example.com/b",
				"--max-nodes-total=6", "--max-graceful-termination-sec=0", "--max-node-provision-time=15m", "--expendable-pods-priority-cutoff=-8",
				"--max-free-difference-ratio=1.00", "--scale-down-delay-after-add=1s", "--scale-down-delay-after-delete=2s",
				"--scale-down-delay-after-failure=3s", "--scale-down-unneeded-time=4s", "--scale-down-utilization-threshold=0.05",
			},
		},
		"nodes are only added": {
			hyperv1.ClusterAutoscaling{Scaling: hyperv1.ScaleUpOnly},
			[]string{"--expander=priority,least-waste", "--scale-down-enabled=false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, flags(&tc.spec)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

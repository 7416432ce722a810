package clusterconditions

import (
	"cmp"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ready reports whether the cluster is available, reaches its nodes and runs everything that spec asks for, for tools that know no other
// condition.
func ready(f *Facts) metav1.Condition {
	available, progressing := f.condition(hyperv1.HostedClusterAvailable), f.condition(hyperv1.HostedClusterProgressing)
	version, tunnels := f.condition(hyperv1.ClusterVersionAvailable), f.condition(hyperv1.DataPlaneConnectionAvailable)
	switch {
	case available.Status != metav1.ConditionTrue:
		return f.is(available.Status, available.Reason, available.Message)
	case progressing.Status != metav1.ConditionFalse || progressing.Reason == hyperv1.BlockedReason:
		return f.is(metav1.ConditionFalse, progressing.Reason, progressing.Message)
	case tunnels.Status == metav1.ConditionFalse, f.NodesExpected && tunnels.Status != metav1.ConditionTrue:
		return f.is(metav1.ConditionFalse, cmp.Or(tunnels.Reason, hyperv1.NoNodesReason), tunnels.Type+": "+cmp.Or(tunnels.Message, "waiting for nodes"))
	case version.Status == metav1.ConditionFalse:
		return f.is(metav1.ConditionFalse, version.Reason, version.Type+": "+version.Message)
	}
	return f.is(metav1.ConditionTrue, hyperv1.AsExpectedReason, reconcile.AllIsWell)
}

// stalled reports that only a change of the user helps. It is absent otherwise: tools take the mere presence for an error.
func stalled(f *Facts) metav1.Condition {
	if f.deleting() {
		return absent
	}
	if progressing := f.condition(hyperv1.HostedClusterProgressing); progressing.Reason == hyperv1.BlockedReason {
		return f.is(metav1.ConditionTrue, hyperv1.BlockedReason, progressing.Message)
	}
	for _, o := range f.Report {
		var block *reconcile.Blocked
		if errors.As(o.Err, &block) {
			return f.is(metav1.ConditionTrue, block.Reason, cmp.Or(o.Condition, o.Step)+": "+block.Message)
		}
	}
	return absent
}

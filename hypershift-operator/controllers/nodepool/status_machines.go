package nodepool

import (
	"fmt"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func (b conditionBuilder) machines(s *scope) {
	if s.dying() {
		return // Deleting counts them
	}
	made, joined := 0, false
	for i := range s.machines {
		if s.machines[i].DeletionTimestamp.IsZero() {
			made++
		}
		joined = joined || s.machines[i].Status.NodeRef.IsDefined()
	}
	b.rollUp(hyperv1.NodePoolAllMachinesReadyCondition, hyperv1.NodePoolMachinesNotReadyReason, s.notReady(), made, int(s.wanted()))
	b.rollUp(hyperv1.NodePoolAllNodesHealthyCondition, hyperv1.NodePoolNodesNotHealthyReason, s.notHealthy(), made, int(s.wanted()))
	switch {
	case joined:
		b.Set(hyperv1.NodePoolReachedIgnitionEndpointCondition, metav1.ConditionTrue, hyperv1.NodePoolNodesJoinedReason, reconcile.AllIsWell)
	case made > 0:
		b.Set(hyperv1.NodePoolReachedIgnitionEndpointCondition, metav1.ConditionFalse, hyperv1.NodePoolIgnitionNotReachedReason, "no machine has joined the cluster yet")
	}
}

// rollUp summarizes the machines or nodes: all are ready, or the state of the others.
func (b conditionBuilder) rollUp(condition, otherwise string, bad remarks, made, wanted int) {
	switch {
	case len(bad) > 0:
		reason, message := bad.summary(made, otherwise)
		b.Set(condition, metav1.ConditionFalse, reason, message)
	case made < wanted:
		b.Set(condition, metav1.ConditionFalse, hyperv1.NodePoolWaitingForMachinesReason, fmt.Sprintf("%d of %d machines have been made", made, wanted))
	default:
		b.Set(condition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
	}
}

// network finds machines with an address that means something else inside the cluster.
func (b conditionBuilder) network(s *scope) {
	var conflicts []string
	if s.hc != nil {
		conflicts = addressConflicts(s.machines, s.hc.Spec.Networking)
	}
	if len(conflicts) == 0 {
		b.Remove(hyperv1.NodePoolClusterNetworkCIDRConflictCondition)
		return
	}
	b.Set(hyperv1.NodePoolClusterNetworkCIDRConflictCondition, metav1.ConditionTrue, hyperv1.NodePoolNetworkConflictReason, strings.Join(conflicts, "; "))
}

func addressConflicts(machines []clusterv1.Machine, n hyperv1.ClusterNetworking) []string {
	var nets []string
	for _, e := range n.ClusterNetwork {
		nets = append(nets, e.CIDR)
	}
	for _, e := range n.ServiceNetwork {
		nets = append(nets, e.CIDR)
	}
	var out []string
	for _, cidr := range nets {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			continue // the HostedCluster says so
		}
		var in []string
		for _, m := range machines {
			for _, a := range m.Status.Addresses {
				ip, err := netip.ParseAddr(a.Address)
				if err == nil && a.Type == clusterv1.MachineInternalIP && prefix.Contains(ip) {
					in = append(in, m.Name)
					break
				}
			}
		}
		if len(in) > 0 {
			out = append(out, fmt.Sprintf("machines have addresses out of network %s of the cluster: %s", cidr, some(in)))
		}
	}
	return out
}

// rollout reports whether machines are being replaced. The condition stays as it is
// while a step before the templates stops the reconcile.
func (b conditionBuilder) rollout(s *scope) {
	if s.template == "" || s.bootstrap == "" {
		return
	}
	o := s.old()
	for _, moving := range []struct {
		condition, what string
		old             int
	}{
		{hyperv1.NodePoolUpdatingVersionCondition, "another version than Kubernetes " + s.release.KubernetesVersion, o.version},
		{hyperv1.NodePoolUpdatingConfigCondition, "another configuration", o.config},
		{hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition, "another machine template than " + s.template, o.template},
	} {
		switch {
		case moving.old > 0:
			b.Set(moving.condition, metav1.ConditionTrue, hyperv1.NodePoolUpdatingReason, fmt.Sprintf("%d of %d machines have %s%s", moving.old, len(s.machines), moving.what, s.onDelete()))
		case b.IsTrue(moving.condition) && s.available() < s.wanted():
			b.Set(moving.condition, metav1.ConditionTrue, hyperv1.NodePoolUpdatingReason, "the last new machines are starting")
		default:
			b.Set(moving.condition, metav1.ConditionFalse, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
		}
	}
}

func (s *scope) onDelete() string {
	if strategyOf(s.np) != hyperv1.UpgradeStrategyOnDelete {
		return ""
	}
	return ": each is replaced when somebody deletes its Machine"
}

// rolledOut reports whether all nodes run the release.
func (s *scope) rolledOut(b conditionBuilder) bool {
	return s.bootstrap != "" && s.template != "" && !b.IsTrue(hyperv1.NodePoolUpdatingVersionCondition) && s.available() >= s.wanted()
}

package nodepool

import (
	"fmt"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machinestate"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func (b conditionBuilder) machines(s *scope) {
	if s.Dying() {
		return // Deleting counts them
	}
	created, joined := 0, false
	for i := range s.Machines {
		if s.Machines[i].DeletionTimestamp.IsZero() {
			created++
		}
		joined = joined || s.Machines[i].Status.NodeRef.IsDefined()
	}
	b.rollUp(hyperv1.NodePoolAllMachinesReadyCondition, hyperv1.NodePoolMachinesNotReadyReason, machinestate.NotReady(s.Pool), created, int(machines.Replicas(s.Pool)))
	b.rollUp(hyperv1.NodePoolAllNodesHealthyCondition, hyperv1.NodePoolNodesNotHealthyReason, machinestate.NotHealthy(s.Pool), created, int(machines.Replicas(s.Pool)))
	switch {
	case joined:
		b.Set(hyperv1.NodePoolReachedIgnitionEndpointCondition, metav1.ConditionTrue, hyperv1.NodePoolNodesJoinedReason, reconcile.AllIsWell)
	case created > 0:
		b.Set(hyperv1.NodePoolReachedIgnitionEndpointCondition, metav1.ConditionFalse, hyperv1.NodePoolIgnitionNotReachedReason, "no machine has joined the cluster yet")
	}
}

// rollUp summarizes the machines or nodes: all are ready, or the state of the others.
func (b conditionBuilder) rollUp(condition, otherwise string, groups machinestate.Groups, created, wanted int) {
	switch {
	case len(groups) > 0:
		reason, message := groups.Summary(created, otherwise)
		b.Set(condition, metav1.ConditionFalse, reason, message)
	case created < wanted:
		b.Set(condition, metav1.ConditionFalse, hyperv1.NodePoolWaitingForMachinesReason, fmt.Sprintf("%d of %d machines have been made", created, wanted))
	default:
		b.Set(condition, metav1.ConditionTrue, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
	}
}

// network finds machines with an address that means something else inside the cluster.
func (b conditionBuilder) network(s *scope) {
	var conflicts []string
	if s.HostedCluster != nil {
		conflicts = addressConflicts(s.Machines, s.HostedCluster.Spec.Networking)
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
			out = append(out, fmt.Sprintf("machines have addresses out of network %s of the cluster: %s", cidr, machinestate.Some(in)))
		}
	}
	return out
}

// rollout reports whether machines are being replaced. The condition stays as it is
// while a step before the templates stops the reconcile.
func (b conditionBuilder) rollout(s *scope) {
	if s.Current.Template == "" || s.Current.Bootstrap == "" {
		return
	}
	o := machinestate.OutdatedOf(s.Pool, s.Current, machines.NodeVersion(s.Release))
	for _, moving := range []struct {
		condition, what string
		old             int
	}{
		{hyperv1.NodePoolUpdatingVersionCondition, "another version than Kubernetes " + s.Release.KubernetesVersion, o.Version},
		{hyperv1.NodePoolUpdatingConfigCondition, "another configuration", o.Config},
		{hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition, "another machine template than " + s.Current.Template, o.Template},
	} {
		switch {
		case moving.old > 0:
			b.Set(moving.condition, metav1.ConditionTrue, hyperv1.NodePoolUpdatingReason, fmt.Sprintf("%d of %d machines have %s%s", moving.old, len(s.Machines), moving.what, onDelete(s.NodePool)))
		case b.IsTrue(moving.condition) && machinestate.Available(s.Pool) < machines.Replicas(s.Pool):
			b.Set(moving.condition, metav1.ConditionTrue, hyperv1.NodePoolUpdatingReason, "the last new machines are starting")
		default:
			b.Set(moving.condition, metav1.ConditionFalse, hyperv1.NodePoolAsExpectedReason, reconcile.AllIsWell)
		}
	}
}

func onDelete(np *hyperv1.NodePool) string {
	if machines.Strategy(np) != hyperv1.UpgradeStrategyOnDelete {
		return ""
	}
	return ": each is replaced after the deletion of its Machine"
}

// rolledOut reports whether all nodes run the release.
func (b conditionBuilder) rolledOut(s *scope) bool {
	return s.Current.Bootstrap != "" && s.Current.Template != "" && !b.IsTrue(hyperv1.NodePoolUpdatingVersionCondition) && machinestate.Available(s.Pool) >= machines.Replicas(s.Pool)
}

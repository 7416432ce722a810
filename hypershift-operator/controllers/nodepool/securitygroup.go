package nodepool

import (
	"context"

	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// resolveSecurityGroup finds the security group of all workers of the cluster. A pool with groups of its own does not wait
// for it: the group is added to its machines later.
func (r *Reconciler) resolveSecurityGroup(_ context.Context, s *scope) error {
	if p := s.hc.Status.Platform; p != nil && p.AWS != nil {
		s.securityGroup = p.AWS.DefaultWorkerSecurityGroupID
	}
	if s.securityGroup == "" && len(s.aws().SecurityGroups) == 0 {
		return reconcile.Wait(0, hyperv1.NodePoolDefaultSecurityGroupNotReadyReason,
			"waiting for the security group of the workers: see condition %s of HostedCluster %s", hyperv1.AWSDefaultSecurityGroupCreated, s.hc.Name)
	}
	return nil
}

// desiredSecurityGroups returns the groups of the cluster and the pool, without duplicates.
func desiredSecurityGroups(s *scope) []infrav1.AWSResourceReference {
	var groups []infrav1.AWSResourceReference
	if s.securityGroup != "" {
		groups = append(groups, infrav1.AWSResourceReference{ID: ptr.To(s.securityGroup)})
	}
	for _, g := range s.aws().SecurityGroups {
		if g.ID == nil || *g.ID != s.securityGroup {
			groups = append(groups, reference(g))
		}
	}
	return groups
}

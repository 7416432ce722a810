package nodepool

import (
	"context"

	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// resolveSecurityGroup finds the group that all workers of the cluster share. A
// pool that brings groups of its own does not wait for it: its machines join
// the group when it comes.
func (r *Reconciler) resolveSecurityGroup(_ context.Context, s *scope) error {
	if p := s.hc.Status.Platform; p != nil && p.AWS != nil {
		s.securityGroup = p.AWS.DefaultWorkerSecurityGroupID
	}
	if s.securityGroup == "" && len(s.aws().SecurityGroups) == 0 {
		return reconcile.Wait(0, hyperv1.NodePoolDefaultSecurityGroupNotReadyReason,
			"the security group of the cluster's workers is not there yet: condition %s of HostedCluster %s says why", hyperv1.AWSDefaultSecurityGroupCreated, s.hc.Name)
	}
	return nil
}

// desiredSecurityGroups are the cluster's and the pool's, each once.
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

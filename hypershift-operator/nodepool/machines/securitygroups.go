package machines

import (
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
)

// desiredSecurityGroups returns the groups of the cluster and the pool, without duplicates.
func desiredSecurityGroups(s *Spec) []infrav1.AWSResourceReference {
	var groups []infrav1.AWSResourceReference
	if s.SecurityGroup != "" {
		groups = append(groups, infrav1.AWSResourceReference{ID: ptr.To(s.SecurityGroup)})
	}
	for _, g := range s.AWS().SecurityGroups {
		if g.ID == nil || *g.ID != s.SecurityGroup {
			groups = append(groups, reference(g))
		}
	}
	return groups
}

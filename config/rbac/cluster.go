package rbac

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// infraID stands in a role for that of the cluster, in the names of what
// Cluster API looks for by it.
const infraID = "<infraID>"

// ForCluster returns the role with the names of the cluster's own objects.
func ForCluster(role *rbacv1.Role, id string) *rbacv1.Role {
	out := role.DeepCopy()
	for _, rule := range out.Rules {
		for i, name := range rule.ResourceNames {
			rule.ResourceNames[i] = strings.ReplaceAll(name, infraID, id)
		}
	}
	return out
}

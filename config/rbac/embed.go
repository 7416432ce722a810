// Package rbac carries the permissions of the operators, for whoever applies
// them. They are in YAML, where a reviewer and `kubectl auth` look for them.
package rbac

import (
	"embed"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed control-plane-operator/role.yaml cluster-api/role.yaml cluster-api-provider-aws/role.yaml cluster-autoscaler/role.yaml
var files embed.FS

// Each is all that a program may do in the namespace of its control plane. It is
// parsed once and never changed.
var (
	// ControlPlaneOperatorRole is that of the control-plane-operator.
	ControlPlaneOperatorRole = role("control-plane-operator")
	// ClusterAPIRole is that of the core of Cluster API.
	ClusterAPIRole = role("cluster-api")
	// CAPIProviderRole is that of Cluster API's AWS provider.
	CAPIProviderRole = role("cluster-api-provider-aws")
	// ClusterAutoscalerRole is that of the cluster autoscaler.
	ClusterAutoscalerRole = role("cluster-autoscaler")
)

func role(program string) func() *rbacv1.Role {
	return sync.OnceValue(func() *rbacv1.Role {
		path := program + "/role.yaml"
		text, err := files.ReadFile(path)
		role := &rbacv1.Role{}
		if err == nil {
			err = yaml.UnmarshalStrict(text, role)
		}
		if err != nil {
			panic("config/rbac/" + path + ": " + err.Error()) // a test reads it too
		}
		return role
	})
}

// Package rbac carries the permissions of the operators, for whoever applies
// them. They are in YAML, where a reviewer and `kubectl auth` look for them.
package rbac

import (
	_ "embed" // the files below
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed control-plane-operator/role.yaml
var controlPlaneOperator []byte

// ControlPlaneOperatorRole returns all that a control-plane-operator may do in
// the namespace of its control plane. It is parsed once; nobody changes it.
var ControlPlaneOperatorRole = sync.OnceValue(func() *rbacv1.Role {
	role := &rbacv1.Role{}
	if err := yaml.UnmarshalStrict(controlPlaneOperator, role); err != nil {
		panic("config/rbac/control-plane-operator/role.yaml: " + err.Error()) // a test reads it too
	}
	return role
})

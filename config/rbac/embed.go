// Package rbac embeds the permissions of the management cluster's programs, for tests. The Helm chart installs
// them. They are in YAML, where a reviewer and `kubectl auth` look for them.
package rbac

import (
	"embed"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed */cluster_role.yaml
var files embed.FS

// Role returns the ClusterRole of a program, by the name of its directory. It panics if it does not exist.
func Role(program string) *rbacv1.ClusterRole {
	path := program + "/cluster_role.yaml"
	text, err := files.ReadFile(path)
	role := &rbacv1.ClusterRole{}
	if err == nil {
		err = yaml.UnmarshalStrict(text, role)
	}
	if err != nil {
		panic("config/rbac/" + path + ": " + err.Error())
	}
	return role
}

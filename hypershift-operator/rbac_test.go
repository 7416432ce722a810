package main

import (
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/config/rbac"
)

func TestPermissions(t *testing.T) {
	rules := rulesOf(t, "cluster_role.yaml")
	// What we do not hold we may not hand on.
	handedOn := slices.Concat(rbac.ControlPlaneOperatorRole().Rules, rbac.ClusterAPIRole().Rules, rbac.CAPIProviderRole().Rules, rbac.ClusterAutoscalerRole().Rules, rulesOf(t, "cluster_api_role.yaml"))
	for _, r := range handedOn {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					if !allows(rules, group, resource, verb) {
						t.Errorf("%s of %s.%s cannot be handed on", verb, resource, group)
					}
				}
			}
		}
	}
}

func rulesOf(t *testing.T, file string) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile("../config/rbac/hypershift-operator/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

func allows(rules []rbacv1.PolicyRule, group, resource, verb string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb)
	})
}

package rbac_test

import (
	"slices"
	"testing"

	"github.com/hosted-control-planes/hypershift/config/rbac"
)

func TestNothingIsAllowedWholesale(t *testing.T) {
	rules := rbac.ControlPlaneOperatorRole().Rules
	if len(rules) == 0 {
		t.Fatal("the role has no rules")
	}
	for _, r := range rules {
		if slices.Contains(slices.Concat(r.APIGroups, r.Resources, r.Verbs), "*") {
			t.Errorf("a wildcard in %+v", r)
		}
		if slices.Contains(r.Resources, "secrets") && len(r.ResourceNames) == 0 {
			t.Errorf("every Secret of the namespace can be read: %+v", r)
		}
	}
}

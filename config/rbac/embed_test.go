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

func TestTheNamesOfACluster(t *testing.T) {
	var got []string
	for _, r := range rbac.ForCluster(rbac.ControlPlaneOperatorRole(), "demo-x").Rules {
		got = append(got, r.ResourceNames...)
	}
	if want := []string{"sa-signing-key", "demo-x-kubeconfig", "admin-kubeconfig"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, r := range rbac.ControlPlaneOperatorRole().Rules {
		if slices.Contains(r.ResourceNames, "demo-x-kubeconfig") {
			t.Error("one cluster's name is in the role of all")
		}
	}
}

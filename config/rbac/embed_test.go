package rbac_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hosted-control-planes/hypershift/config/rbac"
)

func TestNothingIsAllowedWholesale(t *testing.T) {
	for _, role := range []*rbacv1.Role{rbac.ControlPlaneOperatorRole(), rbac.ClusterAPIRole(), rbac.CAPIProviderRole()} {
		if len(role.Rules) == 0 {
			t.Fatalf("role %s has no rules", role.Name)
		}
		for _, r := range role.Rules {
			if slices.Contains(slices.Concat(r.APIGroups, r.Resources, r.Verbs), "*") {
				t.Errorf("a wildcard in %+v of role %s", r, role.Name)
			}
		}
	}
	for _, r := range rbac.ControlPlaneOperatorRole().Rules {
		if slices.Contains(r.Resources, "secrets") && len(r.ResourceNames) == 0 {
			t.Errorf("every Secret of the namespace can be read: %+v", r)
		}
	}
}

// Whoever deletes a Cluster by accident must not take a control plane or the
// machines with it.
func TestClusterAPIDeletesNeitherControlPlanesNorWhatNodePoolsMade(t *testing.T) {
	for _, r := range rbac.ClusterAPIRole().Rules {
		for _, kept := range []string{"hostedcontrolplanes", "awsclusters", "machinedeployments"} {
			if slices.Contains(r.Resources, kept) && slices.Contains(r.Verbs, "delete") {
				t.Errorf("it may delete %s", kept)
			}
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

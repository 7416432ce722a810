package rbac_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/config/rbac"
)

func TestNothingIsAllowedWholesale(t *testing.T) {
	files, err := filepath.Glob("*/*role.yaml")
	if err != nil || len(files) != 6 {
		t.Fatalf("looking for all roles: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(text, &role); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(role.Rules) == 0 {
			t.Fatalf("%s has no rules", file)
		}
		for _, r := range role.Rules {
			if all := slices.Concat(r.APIGroups, r.Resources, r.Verbs, r.NonResourceURLs); slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, "*") }) {
				t.Errorf("a wildcard in %+v of %s", r, file)
			}
		}
	}
}

// Whoever deletes a Cluster by accident must not take a control plane or the
// machines with it.
func TestClusterAPIDeletesNeitherControlPlanesNorWhatNodePoolsMade(t *testing.T) {
	for _, r := range rbac.Role("cluster-api").Rules {
		for _, kept := range []string{"hostedcontrolplanes", "awsclusters", "machinedeployments"} {
			if slices.Contains(r.Resources, kept) && slices.Contains(r.Verbs, "delete") {
				t.Errorf("it may delete %s", kept)
			}
		}
	}
}

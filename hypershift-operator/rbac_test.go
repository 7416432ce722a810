package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/rbac"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/capiprovider"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// crdReader is the ClusterRole of a ClusterRoleBinding.
const crdReader = "hypershift-cluster-api"

// The permission to bind further ClusterRoles would let the operator give itself any of their permissions.
func TestTheOperatorMayBindOnlyTheClusterRolesOfControlPlanes(t *testing.T) {
	bound := []string{crdReader}
	target := &controlplane.Target{
		Namespace: controlplane.Namespace{Name: "clusters-demo"}, AWS: &hyperv1.AWSPlatformSpec{Region: "us-east-1"},
		Images: map[string]string{controlplane.OperatorImage: "operator", names.ClusterAPI: "core", capiprovider.Image: "provider", names.ClusterAutoscaler: "autoscaler"},
	}
	for _, c := range slices.Concat(components.ControlPlane, components.Machines, components.Autoscaler) {
		objs, err := component.Render(c, target)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objs {
			if b, ok := obj.(*rbacv1.RoleBinding); ok {
				bound = append(bound, b.RoleRef.Name)
			}
		}
	}
	slices.Sort(bound)
	var may []string
	for _, r := range rbac.Role(names.HypershiftOperator).Rules {
		if slices.Contains(r.Verbs, "escalate") || slices.Contains(r.Verbs, "bind") && len(r.ResourceNames) == 0 {
			t.Errorf("rule %+v allows to bind any role", r)
		}
		if slices.Contains(r.Verbs, "bind") {
			may = append(may, r.ResourceNames...)
		}
	}
	slices.Sort(may)
	if diff := cmp.Diff(bound, may); diff != "" {
		t.Errorf("ClusterRoles that components name, and that the operator may bind (-want +got):\n%s", diff)
	}
	var shipped []string
	files, err := filepath.Glob("../config/rbac/*/cluster_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if program := filepath.Base(filepath.Dir(file)); program != names.HypershiftOperator {
			shipped = append(shipped, rbac.Role(program).Name)
		}
	}
	shipped = append(shipped, crdReader)
	slices.Sort(shipped)
	if diff := cmp.Diff(shipped, bound); diff != "" {
		t.Errorf("ClusterRoles that are shipped, and that components name (-want +got):\n%s", diff)
	}
}

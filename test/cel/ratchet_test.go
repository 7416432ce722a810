package cel

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// TestObjectsStoredBeforeARuleStayUpdatable stores objects that the current rules reject, under a CRD without rules, and
// then installs the current CRD. Running clusters must stay manageable: finalizers, status and other fields can be
// written, and the rules apply only to a change of the rejected value itself.
func TestObjectsStoredBeforeARuleStayUpdatable(t *testing.T) {
	t.Parallel()
	cfg := fixture.StartAPIServer(t, laxCRDs(t))
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	network := map[string]any{"vpc": "vpc-0\nDisableSecurityGroupIngress=true", "zone": "us-east-1a\nVPC = x", "subnet": map[string]any{"id": "my-subnet"}}
	old := patched(loadBase(t, "hostedcluster"), map[string]any{"spec": map[string]any{
		"labels":   map[string]any{"app": "etcd", "hypershift.openshift.io/need-management-kas-access": "true"},
		"platform": map[string]any{"aws": map[string]any{"cloudProviderConfig": network}},
	}})
	old.SetName("old")
	if err := c.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(cfg, envtest.CRDInstallOptions{Paths: []string{crdDirectory}, ErrorIfPathMissing: true}); err != nil {
		t.Fatalf("installing the current CRDs: %v", err)
	}
	waitUntilRefused(t, c, old)

	for _, tc := range []struct {
		name    string
		patch   string
		refused bool
	}{
		{name: "a finalizer can be added", patch: `{"metadata":{"finalizers":["example.com/a"]}}`},
		{name: "a finalizer can be removed", patch: `{"metadata":{"finalizers":null}}`},
		{name: "another field can be changed", patch: `{"spec":{"channel":"stable"}}`},
		{name: "labels that stay wrong cannot be changed", patch: `{"spec":{"labels":{"team":"a"}}}`, refused: true},
		{name: "a zone that stays wrong cannot be changed", patch: `{"spec":{"platform":{"aws":{"cloudProviderConfig":{"zone":"us-east-1b\nVPC = y"}}}}}`, refused: true},
		{name: "labels can be put right", patch: `{"spec":{"labels":{"app":null,"hypershift.openshift.io/need-management-kas-access":null,"team":"a"}}}`},
		{name: "the zone can be put right", patch: `{"spec":{"platform":{"aws":{"cloudProviderConfig":{"zone":"us-east-1a","subnet":{"id":"subnet-0"}}}}}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(old.GroupVersionKind())
			obj.SetNamespace(old.GetNamespace())
			obj.SetName(old.GetName())
			err := c.Patch(t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(tc.patch)))
			if (err != nil) != tc.refused {
				t.Errorf("refused: %v, want %v", err, tc.refused)
			}
		})
	}
	t.Run("status can be written", func(t *testing.T) {
		obj := old.DeepCopy()
		patch := []byte(`{"status":{"conditions":[{"type":"Available","status":"True","reason":"A","message":"b","lastTransitionTime":"2030-01-01T00:00:00Z"}]}}`)
		if err := c.Status().Patch(t.Context(), obj, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			t.Error(err)
		}
	})
}

// waitUntilRefused waits until the API server enforces the current rules.
func waitUntilRefused(t *testing.T, c client.Client, like *unstructured.Unstructured) {
	t.Helper()
	for i := range 600 {
		obj := like.DeepCopy()
		obj.SetResourceVersion("")
		obj.SetUID("")
		obj.SetName("new")
		if err := c.Create(t.Context(), obj, client.DryRunAll); err != nil {
			return
		}
		if i == 599 {
			t.Fatal("the current rules are not enforced")
		}
	}
}

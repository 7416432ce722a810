package client_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1apply "github.com/hosted-control-planes/hypershift/api/applyconfiguration/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/api/client/clientset"
	"github.com/hosted-control-planes/hypershift/api/client/clientset/fake"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func hostedCluster(name string) *hyperv1.HostedCluster {
	return &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}}
}

func TestFakeKeepsObjects(t *testing.T) {
	api := newFake(hostedCluster("first")).HypershiftV1beta1().HostedClusters("clusters")
	if _, err := api.Create(t.Context(), hostedCluster("second"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Get(t.Context(), "first", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v for a deleted cluster, want not found", err)
	}
	if all, err := api.List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) != 1 || all.Items[0].Name != "second" {
		t.Errorf("got %v, %v; want the second cluster", all, err)
	}
}

// README.md describes how the fake differs from an API server. If this fails, change README.md too.
func TestFakeAppliesWithoutFieldOwners(t *testing.T) {
	api := newFake(hostedCluster("first")).HypershiftV1beta1().HostedClusters("clusters")
	for _, spec := range []*hyperv1apply.HostedClusterSpecApplyConfiguration{
		hyperv1apply.HostedClusterSpec().WithInfraID("first-x7k2p"),
		hyperv1apply.HostedClusterSpec().WithPausedUntil("true"), // an API server would now remove infraID
	} {
		config := hyperv1apply.HostedCluster("first", "clusters").WithSpec(spec)
		if _, err := api.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "example", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := api.Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil || got.Spec.InfraID != "first-x7k2p" || got.Spec.PausedUntil == nil {
		t.Errorf("got %v, infraID %q, pausedUntil %v; want both fields", err, got.Spec.InfraID, got.Spec.PausedUntil)
	}
}

// NewClientset does not work with these types: it needs an OpenAPI schema, which client-gen cannot make from CRDs.
func newFake(objects ...runtime.Object) clientset.Interface {
	return fake.NewSimpleClientset(objects...)
}

package cel

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1apply "github.com/hosted-control-planes/hypershift/api/applyconfiguration/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/api/client/clientset"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// The typed client works with the CRDs as installed: the fake of the client has neither field owners nor validation.
func TestTypedClientApplies(t *testing.T) {
	t.Parallel()
	clients, err := clientset.NewForConfig(fixture.StartAPIServer(t, crdDirectory))
	if err != nil {
		t.Fatal(err)
	}
	pools := clients.HypershiftV1beta1().NodePools("default")
	base := &hyperv1.NodePool{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(loadBase(t, "nodepool").Object, base); err != nil {
		t.Fatal(err)
	}
	base.Name = "workers"
	if _, err := pools.Create(t.Context(), base, metav1.CreateOptions{FieldManager: "user"}); err != nil {
		t.Fatal(err)
	}

	apply := func(manager string, spec *hyperv1apply.NodePoolSpecApplyConfiguration) (*hyperv1.NodePool, error) {
		config := hyperv1apply.NodePool("workers", "default").WithSpec(spec)
		return pools.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: manager})
	}
	got, err := apply("example", hyperv1apply.NodePoolSpec().WithPausedUntil("true").WithNodeLabels(map[string]hyperv1.LabelValue{"team": "a"}))
	if err != nil || got.Spec.PausedUntil == nil || got.Spec.NodeLabels["team"] != "a" || got.Spec.ClusterName != base.Spec.ClusterName {
		t.Fatalf("the first apply returned %+v, %v", got, err)
	}
	if _, err := apply("example", hyperv1apply.NodePoolSpec().WithNodeLabels(map[string]hyperv1.LabelValue{"team": "a"})); err != nil {
		t.Fatal(err)
	}
	if _, err := apply("other", hyperv1apply.NodePoolSpec().WithNodeLabels(map[string]hyperv1.LabelValue{"team": "b"})); !apierrors.IsConflict(err) {
		t.Errorf("applying a field of another owner returned %v, want a conflict", err)
	}
	got, err = pools.Get(t.Context(), "workers", metav1.GetOptions{})
	if err != nil || got.Spec.PausedUntil != nil || got.Spec.NodeLabels["team"] != "a" {
		t.Errorf("the API server has %+v, %v; want the label of the first owner and no pausedUntil, which is no longer applied", got, err)
	}
}

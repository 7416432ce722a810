package crashtest_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

// Both operators write conditions of an AWSEndpointService. An apply by one must keep the conditions of the other.
func TestConditionsOfTwoWritersOfOneStatusAreKept(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{hyperv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := crashtest.NewCluster(crashtest.Options{
		Scheme:     scheme,
		Converters: []managedfields.TypeConverter{crashtest.Converter("../../config/crd")},
		Kinds:      []client.ObjectList{&hyperv1.AWSEndpointServiceList{}},
		WithStatus: []client.Object{&hyperv1.AWSEndpointService{}},
	})
	c.Create(t, &hyperv1.AWSEndpointService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-a", Name: "private-router"},
		Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: "nlb"},
	})

	apply := func(owner, condition string) {
		t.Helper()
		es := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-a", Name: "private-router"}}
		text, err := json.Marshal(map[string]any{
			"apiVersion": hyperv1.GroupVersion.String(), "kind": "AWSEndpointService",
			"metadata": map[string]any{"name": es.Name, "namespace": es.Namespace},
			"status": hyperv1.AWSEndpointServiceStatus{Conditions: []metav1.Condition{{
				Type: condition, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, LastTransitionTime: metav1.Unix(0, 0),
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Admin().Status().Patch(t.Context(), es, client.RawPatch("application/apply-patch+yaml", text), client.FieldOwner(owner)); err != nil {
			t.Fatal(err)
		}
	}
	apply("hypershift-operator", hyperv1.AWSEndpointServiceAvailable)
	apply("control-plane-operator", hyperv1.AWSEndpointAvailable)

	es := &hyperv1.AWSEndpointService{}
	if err := c.Admin().Get(t.Context(), client.ObjectKey{Namespace: "clusters-a", Name: "private-router"}, es); err != nil {
		t.Fatal(err)
	}
	if len(es.Status.Conditions) != 2 {
		t.Errorf("the conditions of both writers should be there, found %v", es.Status.Conditions)
	}
}

package discovery_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/discovery"
)

func TestMissing(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(clusterv1.GroupVersion.WithKind("Cluster"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	if got := discovery.MissingKinds(mapper, scheme, &clusterv1.Cluster{}, &corev1.Node{}); got != "" {
		t.Errorf("%q is missing, want none", got)
	}
	got := discovery.MissingKinds(mapper, scheme, &clusterv1.MachineSet{}, &clusterv1.Cluster{}, &clusterv1.Machine{})
	if want := "MachineSet.v1beta2.cluster.x-k8s.io, Machine.v1beta2.cluster.x-k8s.io"; got != want {
		t.Errorf("%q is missing, want %q", got, want)
	}
}

package operator

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestTheCacheDoesNotKeepWhatOtherProgramsWriteForThemselves(t *testing.T) {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: `{"kind":"HostedCluster"}`, "example.com/a": "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	obj, err := lean()(hc)
	if err != nil {
		t.Fatal(err)
	}
	got := obj.(*hyperv1.HostedCluster)
	if got.ManagedFields != nil || !maps.Equal(got.Annotations, map[string]string{"example.com/a": "b"}) {
		t.Errorf("got %+v", got.ObjectMeta)
	}
	if _, err := lean()(&corev1.Namespace{}); err != nil {
		t.Error(err)
	}
}

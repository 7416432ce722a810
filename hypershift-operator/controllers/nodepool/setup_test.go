package nodepool

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestPoolsAreReconciledForAnnotationsOfTheirClusterThatHaveAnEffect(t *testing.T) {
	changed := func(key, was, is string) bool {
		annotated := func(value string) *hyperv1.HostedCluster {
			hc := &hyperv1.HostedCluster{}
			if value != "" {
				hc.Annotations = map[string]string{key: value}
			}
			return hc
		}
		return clusterChanged.Update(event.UpdateEvent{ObjectOld: annotated(was), ObjectNew: annotated(is)})
	}
	for _, key := range hyperv1.AnnotationsOfHostedClusters() {
		for _, values := range [][2]string{{"", "a"}, {"a", "b"}, {"a", ""}} {
			if !changed(key, values[0], values[1]) {
				t.Errorf("no pool is reconciled when %s changes from %q to %q", key, values[0], values[1])
			}
		}
	}
	for _, key := range []string{"kubectl.kubernetes.io/last-applied-configuration", "example.com/touched"} {
		if changed(key, "a", "b") {
			t.Errorf("pools are reconciled for %s of another client", key)
		}
	}
}

package machines

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestTheClusterOwnsItsObjectsAsClusterAPIExpects(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		cluster *clusterv1.Cluster
		want    []metav1.OwnerReference
	}{
		"nobody, before there is a Cluster": {},
		"nobody, while the Cluster goes":    {cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo-x", UID: "1", DeletionTimestamp: &now}}},
		"the Cluster": {
			cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo-x", UID: "1"}},
			want:    []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "demo-x", UID: "1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpec(nil)
			s.Cluster = tc.cluster
			template, err := desiredTemplate(s)
			if err != nil {
				t.Fatal(err)
			}
			bootstrap, err := desiredBootstrap(s, "config")
			if err != nil {
				t.Fatal(err)
			}
			for _, obj := range []client.Object{desiredDeployment(s), desiredHealthCheck(s), template, bootstrap} {
				if got := obj.GetOwnerReferences(); !slices.Equal(got, tc.want) {
					t.Errorf("%T belongs to %v, want %v", obj, got, tc.want)
				}
			}
			config, err := desiredConfig(s)
			if err != nil {
				t.Fatal(err)
			}
			if len(config.OwnerReferences) > 0 {
				t.Error("Cluster API has nothing to do with the Secret of the node configuration")
			}
		})
	}
}

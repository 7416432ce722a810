package etcdconnections

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const namespace = "clusters-demo"

// pod returns a pod with a finalizer, so that it exists after its deletion, as a pod does until its containers have stopped.
func pod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Finalizers: []string{"example.com/stopping"}}}
}

func TestDeletedPodLosesTheLabelOfTheService(t *testing.T) {
	connected := map[string]string{"app": names.Etcd, etcd.ConnectionsLabel: "true"}
	member := map[string]string{"app": names.Etcd}
	for name, tt := range map[string]struct {
		labels, want map[string]string
		deleted      bool
		writes       int
	}{
		"a single member":                              {labels: connected, want: connected},
		"a single member that is being deleted":        {labels: connected, want: member, deleted: true, writes: 1},
		"one of several members that is being deleted": {labels: member, want: member, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := crashtest.NewCluster(crashtest.Options{Scheme: clientgoscheme.Scheme, Kinds: []client.ObjectList{&corev1.PodList{}}})
			p := pod("etcd-0", maps.Clone(tt.labels))
			w.Create(t, p)
			if tt.deleted {
				if err := w.Admin().Delete(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			c := New(Options{Client: w.Client()})
			for range 2 {
				if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(p.Labels, tt.want) {
				t.Errorf("the pod has the labels %v, want %v", p.Labels, tt.want)
			}
			if n := w.Calls.Writes(); n != tt.writes {
				t.Errorf("%d writes, want %d: %v", n, tt.writes, w.Calls.Log(0))
			}
			if stops(p) {
				t.Error("the pod is reconciled again and again")
			}
		})
	}
}

// The new pod of a StatefulSet gets the name of the former one, which a cache can still contain. Without its label, no API server could
// connect to it.
func TestNewPodKeepsTheLabelWhenTheCacheIsOld(t *testing.T) {
	labels := map[string]string{"app": names.Etcd, etcd.ConnectionsLabel: "true"}
	w := crashtest.NewCluster(crashtest.Options{Scheme: clientgoscheme.Scheme, Kinds: []client.ObjectList{&corev1.PodList{}}})
	admin := w.Admin()
	cached, recreated := pod("etcd-0", maps.Clone(labels)), pod("etcd-0", maps.Clone(labels))
	w.Create(t, cached)
	if err := admin.Delete(t.Context(), cached); err != nil {
		t.Fatal(err)
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(cached), cached); err != nil {
		t.Fatal(err)
	}
	stopped := cached.DeepCopy()
	stopped.Finalizers = nil
	if err := admin.Update(t.Context(), stopped); err != nil {
		t.Fatal(err)
	}
	w.Create(t, recreated)
	result, err := New(Options{Client: w.Client()}).ReconcileObject(t.Context(), cached)
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("got %+v, %v, want that the pod is read again after the conflict", result, err)
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(recreated), recreated); err != nil || !maps.Equal(recreated.Labels, labels) {
		t.Errorf("the new pod has the labels %v, %v", recreated.Labels, err)
	}
}

func TestMissingPodIsIgnored(t *testing.T) {
	w := crashtest.NewCluster(crashtest.Options{Scheme: clientgoscheme.Scheme})
	if _, err := New(Options{Client: w.Client()}).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "etcd-0"}}); err != nil {
		t.Fatal(err)
	}
}

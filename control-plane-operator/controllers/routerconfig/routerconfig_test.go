package routerconfig

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hosted-control-planes/hypershift/internal/haproxy"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const namespace = "clusters-demo"

func configMap(name, config string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"haproxy.cfg": config}}
}

func pod(namespace, name, app string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}}}
}

func TestChangedConfigurationAnnotatesAllRouterPods(t *testing.T) {
	w := crashtest.NewCluster(crashtest.Options{Scheme: clientgoscheme.Scheme, Kinds: []client.ObjectList{&corev1.PodList{}}})
	w.Create(t, configMap(names.Router, "a"), pod(namespace, "router-1", names.PrivateRouter), pod(namespace, "router-2", names.PrivateRouter),
		pod(namespace, "etcd-0", names.Etcd), pod("clusters-other", "router-1", names.PrivateRouter))
	r := New(Options{Client: w.Client()})
	for range 2 {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: names.Router}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Calls.Writes(); n != 2 {
		t.Errorf("wrote %v", w.Calls.Log(0))
	}
	list := &corev1.PodList{}
	if err := w.Admin().List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		ours := p.Namespace == namespace && p.Labels["app"] == names.PrivateRouter
		if nudged := p.Annotations[haproxy.ConfigAnnotation] != ""; nudged != ours {
			t.Errorf("%s/%s was nudged: %v", p.Namespace, p.Name, nudged)
		}
	}
}

func TestMissingRouterIsIgnored(t *testing.T) {
	w := crashtest.NewCluster(crashtest.Options{Scheme: clientgoscheme.Scheme})
	if _, err := New(Options{Client: w.Client()}).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: names.Router}}); err != nil {
		t.Fatal(err)
	}
}

func TestPredicateOfRouterConfigMaps(t *testing.T) {
	for name, c := range map[string]struct {
		before, after *corev1.ConfigMap
		want          bool
	}{
		"another configuration":                 {configMap(names.Router, "a"), configMap(names.Router, "b"), true},
		"the same configuration, another label": {configMap(names.Router, "a"), configMap(names.Router, "a"), false},
		"somebody else's ConfigMap":             {configMap("other", "a"), configMap("other", "b"), false},
	} {
		if got := changes.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if changes.Create(event.CreateEvent{Object: configMap(names.Router, "a")}) {
		t.Error("pods that start with it are told of it")
	}
}

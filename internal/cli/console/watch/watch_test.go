package watch_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/timeline"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

const patience = 20 * time.Second

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// eventually waits until get returns true.
func eventually(t *testing.T, what string, get func() bool) {
	t.Helper()
	for started := time.Now(); !get(); time.Sleep(20 * time.Millisecond) {
		if time.Since(started) > patience {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func TestStore(t *testing.T) {
	config := fixture.StartAPIServer(t, "../../../../config/crd", "../../../../config/crd/external")
	admin, err := client.New(config, client.Options{Scheme: clustertree.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	create := func(objects ...client.Object) {
		t.Helper()
		for _, o := range objects {
			if err := admin.Create(t.Context(), o); err != nil {
				t.Fatalf("%T %s: %v", o, o.GetName(), err)
			}
		}
	}
	demo := fixture.Sample(t, "hostedcluster-none.yaml", "team-a", "demo")
	plane := "team-a-demo"
	es := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "private-router"}}
	es.Spec.NetworkLoadBalancerName = "nlb"
	balancer := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "private-router"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 443}}}}
	internal := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "etcd"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 2379}}}}
	create(namespace("team-a"), namespace("team-b"), namespace(plane), demo, fixture.Sample(t, "hostedcluster-none.yaml", "team-b", "other"), es, balancer, internal)

	key := types.NamespacedName{Namespace: "team-a", Name: "demo"}
	start := func(t *testing.T, config *rest.Config, ns string) (*watch.Store, error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		return watch.Start(ctx, config, watch.Options{Namespace: ns, Clock: clock.RealClock{}})
	}

	t.Run("an administrator", func(t *testing.T) {
		store, err := start(t, config, "")
		if err != nil {
			t.Fatal(err)
		}
		keys, err := store.Keys(t.Context())
		if err != nil || len(keys) != 2 {
			t.Fatalf("%v %v", keys, err)
		}
		changes := store.Subscribe()
		defer changes.Close()
		c, err := store.Detailed(t.Context(), key)
		if err != nil || len(c.Services) != 1 || len(c.EndpointServices) != 1 || len(c.Unreadable) != 0 {
			t.Fatalf("%+v %v", c, err)
		}
		// An object of the control plane's namespace, and a condition, change the cluster.
		es.Status.Conditions = []metav1.Condition{{Type: hyperv1.AWSEndpointAvailable, Status: metav1.ConditionFalse, Reason: "EndpointRejected", Message: "rejected", LastTransitionTime: metav1.Now()}}
		if err := admin.Status().Update(t.Context(), es); err != nil {
			t.Fatal(err)
		}
		changed := map[types.NamespacedName]bool{}
		eventually(t, "the change of the AWSEndpointService", func() bool {
			maps.Copy(changed, changes.Take())
			return changed[key]
		})
		if changed[types.NamespacedName{Namespace: "team-b", Name: "other"}] {
			t.Error("another cluster has changed")
		}
		lanes := store.Lanes(key)
		if !slices.ContainsFunc(lanes, func(l timeline.Lane) bool {
			return l.Condition == hyperv1.AWSEndpointAvailable && l.Kind == "AWSEndpointService"
		}) {
			t.Errorf("lanes %+v", lanes)
		}
		// Events of a cluster are its dots; events of others are not.
		event := func(name, object string) *corev1.Event {
			return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}, Type: "Normal", Reason: "Available", Message: object, LastTimestamp: metav1.Now(),
				InvolvedObject: corev1.ObjectReference{APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster", Namespace: "team-a", Name: object}}
		}
		create(event("one", "demo"), event("two", "another"))
		eventually(t, "the event", func() bool {
			c, err := store.Detailed(t.Context(), key)
			return err == nil && len(c.Events) == 1 && c.Events[0].Message == "demo"
		})
		if err := admin.Delete(t.Context(), demo); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the deletion", func() bool {
			c, err := store.Cluster(t.Context(), key)
			return err == nil && c == nil && len(store.Lanes(key)) == 0
		})
		create(fixture.Sample(t, "hostedcluster-none.yaml", "team-a", "demo"))
		if h := store.Health(); h.Err != nil || time.Since(h.Reached) > patience {
			t.Errorf("health %+v", h)
		}
	})

	t.Run("a tenant sees the own namespace only", func(t *testing.T) {
		create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "reader"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{hyperv1.GroupVersion.Group}, Resources: []string{"hostedclusters", "nodepools"}, Verbs: []string{"get", "list", "watch"}},
		}}, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "reader"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "tenant"}}})
		tenant := rest.CopyConfig(config)
		tenant.Impersonate = rest.ImpersonationConfig{UserName: "tenant", Groups: []string{"system:authenticated"}}
		_, err := start(t, tenant, "")
		var forbidden *watch.ForbiddenError
		if !errors.As(err, &forbidden) {
			t.Fatalf("got %v", err)
		}
		if _, err := start(t, tenant, "team-b"); err == nil || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("another namespace: %v", err)
		}
		store, err := start(t, tenant, "team-a")
		if err != nil {
			t.Fatal(err)
		}
		keys, err := store.Keys(t.Context())
		if err != nil || len(keys) != 1 || keys[0] != key {
			t.Errorf("%v %v", keys, err)
		}
		c, err := store.Detailed(t.Context(), key)
		if err != nil || len(c.Services)+len(c.EndpointServices) != 0 {
			t.Errorf("%+v %v", c, err)
		}
		if c, err := store.Detailed(t.Context(), types.NamespacedName{Namespace: "team-b", Name: "other"}); c != nil || err != nil {
			t.Errorf("a cluster of another namespace: %+v %v", c, err)
		}
		h := store.Health()
		if h.Err != nil || len(h.Unreadable) != 1 || h.Unreadable["Event"] == nil {
			t.Errorf("health %+v", h)
		}
	})
}

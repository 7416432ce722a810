package chart_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/rbac"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

const (
	tenant     = "clusters-demo"
	operator   = "control-plane-operator"
	hostname   = hyperv1.ExternalDNSHostnameAnnotation
	privileged = "may-all"
)

// admission is an API server with the policies of the chart, and the namespace of a control plane.
type admission struct {
	// admin has all permissions. taken is a compromised control-plane-operator with all permissions in its namespace: the
	// policies must reject its requests. its is one with the shipped permissions.
	admin, taken, its client.Client
}

func startAdmission(t *testing.T) admission {
	t.Helper()
	b, err := fixture.Start(t.Context(), fixture.Options{Progress: t.Output(), CRDs: []string{path(t, "config", "crd", "external", "routes.crd.yaml")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	a := admission{admin: clientAs(t, b.Config, ""), taken: clientAs(t, b.Config, privileged), its: clientAs(t, b.Config, operator)}
	for _, obj := range render(t, "") {
		if strings.HasPrefix(obj.GetKind(), "ValidatingAdmissionPolicy") {
			create(t, a.admin, obj)
		}
	}
	create(t, a.admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: tenant, Labels: map[string]string{hyperv1.ControlPlaneNamespaceLabel: "true"},
		Annotations: map[string]string{hyperv1.PublishedNamesAnnotation: ".demo.hypershift.local,api.example.com,oauth.example.com"},
	}})
	all := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	for name, rules := range map[string][]rbacv1.PolicyRule{privileged: all, operator: rbac.Role(operator).Rules} {
		meta := metav1.ObjectMeta{Namespace: tenant, Name: name}
		create(t, a.admin, &rbacv1.Role{ObjectMeta: meta, Rules: rules})
		create(t, a.admin, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tenant, Name: name}},
		})
	}
	a.awaitPolicies(t)
	return a
}

// clientAs returns a client for a service account of the namespace, or for an administrator.
func clientAs(t *testing.T, cfg *rest.Config, account string) client.Client {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	if account != "" {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + tenant + ":" + account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + tenant}}
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatalf("creating %T %s: %v", obj, obj.GetName(), err)
	}
}

// awaitPolicies waits until the API server enforces each of them.
func (a admission) awaitPolicies(t *testing.T) {
	t.Helper()
	for _, obj := range []client.Object{
		service("a", nil, corev1.ServiceSpec{ExternalIPs: []string{"10.0.0.1"}}), routeTo("a", "login.example.com"), fence("a"),
	} {
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return refused(a.taken.Create(ctx, obj.DeepCopyObject().(client.Object), client.DryRunAll)), nil
		})
		if err != nil {
			t.Fatalf("no policy applies to a %T: %v", obj, err)
		}
	}
}

// refused reports whether a policy of the chart has rejected a request.
func refused(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'hypershift-control-plane-")
}

func service(name string, annotations map[string]string, spec corev1.ServiceSpec) *corev1.Service {
	if spec.Type != corev1.ServiceTypeExternalName {
		spec.Ports = []corev1.ServicePort{{Name: "https", Port: 443}}
	}
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name, Annotations: annotations}, Spec: spec}
}

func fence(name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}, Egress: []networkingv1.NetworkPolicyEgressRule{{}}},
	}
}

func routeTo(name, host string) *unstructured.Unstructured {
	route := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"host": host, "to": map[string]any{"kind": "Service", "name": "kube-apiserver"}}}}
	if host == "" {
		unstructured.RemoveNestedField(route.Object, "spec", "host")
	}
	route.SetAPIVersion("route.openshift.io/v1")
	route.SetKind("Route")
	route.SetNamespace(tenant)
	route.SetName(name)
	return route
}

// TestCompromisedControlPlaneOperatorIsContained tries attacks on other tenants: each attempt is rejected although RBAC
// allows it.
func TestCompromisedControlPlaneOperatorIsContained(t *testing.T) {
	a := startAdmission(t)
	balancer := corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}
	create(t, a.admin, fence("management-kas"))
	create(t, a.admin, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "control-plane"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"services.loadbalancers": resource.MustParse("2")}}})
	a.awaitQuota(t)

	attempts := map[string]func(context.Context) error{
		"to capture the traffic of a foreign address": func(ctx context.Context) error {
			return a.taken.Create(ctx, service("a", nil, corev1.ServiceSpec{ExternalIPs: []string{"10.96.0.1"}}))
		},
		"to register the name of another cluster": func(ctx context.Context) error {
			return a.taken.Create(ctx, service("b", map[string]string{hostname: "login.example.com"}, balancer))
		},
		"to register it beside a name of its own": func(ctx context.Context) error {
			return a.taken.Create(ctx, service("c", map[string]string{hostname: "api.example.com, Login.example.com"}, balancer))
		},
		"to register it as an internal name": func(ctx context.Context) error {
			return a.taken.Create(ctx, service("d", map[string]string{"external-dns.alpha.kubernetes.io/internal-hostname": "login.example.com"}, balancer))
		},
		"to register a name with the suffix of its own": func(ctx context.Context) error {
			return a.taken.Create(ctx, service("e", map[string]string{hostname: "my-api.example.com"}, balancer))
		},
		"to register it by a Route": func(ctx context.Context) error {
			return a.taken.Create(ctx, routeTo("a", "login.example.com"))
		},
		"to let its pods out by a network policy": func(ctx context.Context) error { return a.taken.Create(ctx, fence("open")) },
		"to change a network policy": func(ctx context.Context) error {
			return a.taken.Patch(ctx, fence("management-kas"), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"podSelector":{"matchLabels":{"no":"pod"}}}}`)))
		},
		"to delete a network policy": func(ctx context.Context) error { return a.taken.Delete(ctx, fence("management-kas")) },
		"to delete all network policies": func(ctx context.Context) error {
			return a.taken.DeleteAllOf(ctx, &networkingv1.NetworkPolicy{}, client.InNamespace(tenant))
		},
		"to delete the quota": func(ctx context.Context) error {
			return a.taken.Delete(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "control-plane"}})
		},
		"to create limits of its own": func(ctx context.Context) error {
			return a.taken.Create(ctx, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "a"}})
		},
	}
	for name, attempt := range attempts {
		t.Run(name, func(t *testing.T) {
			if err := attempt(t.Context()); !refused(err) {
				t.Errorf("it is not refused: %v", err)
			}
		})
	}

	live := service("kube-apiserver", map[string]string{hostname: "api.example.com"}, balancer)
	create(t, a.taken, live)
	t.Run("to change a name of its own to another", func(t *testing.T) {
		if err := a.taken.Patch(t.Context(), live.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+hostname+`":"login.example.com"}}}`))); !refused(err) {
			t.Errorf("it is not refused: %v", err)
		}
	})
	t.Run("to add external addresses to a Service", func(t *testing.T) {
		if err := a.taken.Patch(t.Context(), live.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"externalIPs":["10.96.0.1"]}}`))); !refused(err) {
			t.Errorf("it is not refused: %v", err)
		}
	})
	t.Run("to set the name of another cluster in the status of a Route", func(t *testing.T) {
		route := routeTo("oauth", "oauth.example.com")
		create(t, a.taken, route)
		status := `{"status":{"ingress":[{"host":"login.example.com","routerName":"router","wildcardPolicy":"None"}]}}`
		if err := a.taken.Status().Patch(t.Context(), route, client.RawPatch(types.MergePatchType, []byte(status))); err != nil && !refused(err) {
			t.Fatal(err)
		} else if err == nil {
			t.Error("it is not refused")
		}
	})
	t.Run("to create unlimited load balancers", func(t *testing.T) {
		var err error
		for _, name := range []string{"second", "third", "fourth"} {
			if err = a.taken.Create(t.Context(), service(name, nil, balancer)); err != nil {
				break
			}
		}
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota") {
			t.Errorf("it is not refused: %v", err)
		}
	})
	// RBAC itself, with the shipped permissions, rejects these.
	for name, attempt := range map[string]func(context.Context) error{
		"to widen the names of its namespace": func(ctx context.Context) error {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}
			return a.its.Patch(ctx, ns, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+hyperv1.PublishedNamesAnnotation+`":".com"}}}`)))
		},
		"to remove the label that the policies select": func(ctx context.Context) error {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}
			return a.its.Patch(ctx, ns, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`)))
		},
		"to bind another role": func(ctx context.Context) error {
			return a.its.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "a"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: privileged}})
		},
		"to change a network policy with its own permissions": func(ctx context.Context) error { return a.its.Delete(ctx, fence("management-kas")) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := attempt(t.Context()); !apierrors.IsForbidden(err) {
				t.Errorf("it is not refused: %v", err)
			}
		})
	}
}

// awaitQuota waits until the status of the quota is set. Until then, all requests are rejected.
func (a admission) awaitQuota(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		quota := &corev1.ResourceQuota{}
		err := a.admin.Get(ctx, client.ObjectKey{Namespace: tenant, Name: "control-plane"}, quota)
		return len(quota.Status.Hard) > 0, err
	})
	if err != nil {
		t.Fatalf("the quota is not in effect: %v", err)
	}
}

// TestRequestsOfControlPlanesAreAdmitted creates the objects of the control-plane-operator, with its permissions, and
// the objects that other controllers create in its namespace.
func TestRequestsOfControlPlanesAreAdmitted(t *testing.T) {
	a := startAdmission(t)
	for name, obj := range map[string]client.Object{
		"a load balancer without a name":     service("private-router", map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}, corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}),
		"a load balancer with its name":      service("kube-apiserver", map[string]string{hostname: "api.example.com"}, corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}),
		"a name as users write it":           service("oauth", map[string]string{hostname: "OAuth.example.com"}, corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}),
		"a private name":                     service("kube-apiserver-private-external", map[string]string{hostname: "api.example.com"}, corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "vpce.example.net"}),
		"a node port":                        service("konnectivity-server", nil, corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}),
		"a Service without an address":       service("headless", nil, corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}),
		"a Route with a name":                routeTo("kube-apiserver", "api.example.com"),
		"a Route in the zone of the cluster": routeTo("oauth-internal", "oauth.apps.demo.hypershift.local"),
		"a Route for which a name is chosen": routeTo("ignition", ""),
		"the Services of the golden files":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			if obj != nil {
				create(t, a.its, obj)
				return
			}
			for _, file := range glob(t, "control-plane-operator", "components", "*", "testdata", "*.yaml") {
				objs, err := fixture.Decode(string(read(t, file)))
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				for _, obj := range objs {
					if obj.GetKind() != "Service" && obj.GetKind() != "Route" {
						continue
					}
					obj.SetNamespace(tenant)
					if err := a.its.Create(t.Context(), obj, client.DryRunAll); err != nil {
						t.Errorf("%s of %s: %v", obj.GetName(), file, err)
					}
				}
			}
		})
	}

	t.Run("a name that was admitted stays while the HostedCluster has got another", func(t *testing.T) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}
		if err := a.admin.Patch(t.Context(), ns, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+hyperv1.PublishedNamesAnnotation+`":"new.example.com"}}}`))); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return refused(a.its.Create(ctx, service("late", map[string]string{hostname: "api.example.com"}, corev1.ServiceSpec{}), client.DryRunAll)), nil
		})
		if err != nil {
			t.Fatalf("the new names are not in effect: %v", err)
		}
		for _, obj := range []client.Object{service("kube-apiserver", nil, corev1.ServiceSpec{}), routeTo("kube-apiserver", "api.example.com")} {
			if err := a.its.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))); err != nil {
				t.Errorf("%T: %v", obj, err)
			}
		}
	})
	t.Run("an administrator is not bounded", func(t *testing.T) {
		create(t, a.admin, service("a", map[string]string{hostname: "login.example.com"}, corev1.ServiceSpec{ExternalIPs: []string{"10.0.0.1"}}))
		create(t, a.admin, fence("a"))
	})
	t.Run("before the names of a namespace are known, none is refused", func(t *testing.T) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}
		if err := a.admin.Patch(t.Context(), ns, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`))); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return a.its.Create(ctx, service("late", map[string]string{hostname: "api.example.com"}, corev1.ServiceSpec{}), client.DryRunAll) == nil, nil
		})
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	})
}

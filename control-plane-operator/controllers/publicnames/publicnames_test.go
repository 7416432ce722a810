package publicnames

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	namespace = testenv.Namespace
	host      = "api.example.com"
	balancer  = "a-0123456789abcdef.elb.us-east-1.amazonaws.com"
)

var scheme = testenv.Scheme(routev1.Install)

// fakeDNS is a management cluster with DNS.
type fakeDNS struct {
	*testenv.Env
	mu      sync.Mutex
	dns     map[string]any // addresses as text, or an error; other names do not exist
	lookups int
}

func newFakeDNS(t testing.TB, objects ...client.Object) *fakeDNS {
	e := &fakeDNS{dns: map[string]any{}, Env: testenv.New(t, testenv.WithScheme(scheme),
		testenv.WithObjects(objects...),
		testenv.For(&hyperv1.HostedControlPlane{ObjectMeta: testenv.In(namespace, "demo")}, &hyperv1.HostedControlPlaneList{}),
		testenv.WithKinds(&corev1.ServiceList{}, &routev1.RouteList{}),
	)}
	e.Start = e.start
	return e
}

func (e *fakeDNS) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lookups++
	switch found := e.dns[host].(type) {
	case string:
		var all []netip.Addr
		for _, text := range strings.Fields(found) {
			all = append(all, netip.MustParseAddr(text))
		}
		return all, nil
	case error:
		return nil, found
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, Server: fmt.Sprintf("10.0.0.%d:53", e.lookups), IsNotFound: true}
}

func (e *fakeDNS) start() testenv.Pass {
	r := New(Options{Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Clock: e.Clock, Lookup: e.lookup})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, r.ReconcileObject)
}

// settle starts a process and reconciles until records have had their time.
func (e *fakeDNS) settle() {
	e.T.Helper()
	e.Restart()
	e.Once()
	e.Clock.Step(registration)
	e.Once()
}

func published(name, host, at string) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{hyperv1.ExternalDNSHostnameAnnotation: host}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	if at != "" {
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: at}}
	}
	return svc
}

func private(name, host, at string) *corev1.Service {
	svc := published(name, host, "")
	svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: at}
	return svc
}

func route(name, host, at string, labels map[string]string) *routev1.Route {
	return &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       routev1.RouteSpec{Host: host},
		Status:     routev1.RouteStatus{Ingress: []routev1.RouteIngress{{Host: host, RouterName: "router", RouterCanonicalHostname: at}}},
	}
}

func TestCondition(t *testing.T) {
	const tunnels, endpoint = "konnectivity.example.com", "vpce-1.us-east-1.vpce.amazonaws.com"
	unreachable := hyperv1.ExternalDNSHostNotReachableReason
	noAnswer := &net.DNSError{Err: "server misbehaving", Name: host, Server: "10.0.0.1:53", IsTemporary: true}
	for name, c := range map[string]struct {
		objects []client.Object
		dns     map[string]any
		status  metav1.ConditionStatus
		reason  string
		words   []string
	}{
		"without host names it is unknown": {status: metav1.ConditionUnknown, reason: hyperv1.StatusUnknownReason, words: []string{"no host names"}},
		"the name leads to the load balancer": {
			objects: []client.Object{published("kube-apiserver", host, balancer)},
			dns:     map[string]any{host: "192.0.2.2 192.0.2.1", balancer: "192.0.2.1 192.0.2.2"}, status: metav1.ConditionTrue, reason: hyperv1.AsExpectedReason,
		},
		"the addresses of the load balancer rotate": {
			objects: []client.Object{published("kube-apiserver", host, balancer)},
			dns:     map[string]any{host: "192.0.2.1", balancer: "192.0.2.1 192.0.2.2"}, status: metav1.ConditionTrue, reason: hyperv1.AsExpectedReason,
		},
		"the load balancer has an address instead of a name": {
			objects: []client.Object{published("kube-apiserver", host, "192.0.2.1")},
			dns:     map[string]any{host: "::ffff:192.0.2.1"}, status: metav1.ConditionTrue, reason: hyperv1.AsExpectedReason,
		},
		"there is no load balancer": {
			objects: []client.Object{published("kube-apiserver", host, "")},
			dns:     map[string]any{host: "192.0.2.1"}, status: metav1.ConditionFalse, reason: hyperv1.WaitingOnInfrastructureReason, words: []string{host, "kube-apiserver"},
		},
		"the name does not exist": {
			objects: []client.Object{published("kube-apiserver", host, balancer)},
			dns:     map[string]any{balancer: "192.0.2.1"}, status: metav1.ConditionFalse, reason: unreachable, words: []string{host, "create a CNAME", balancer},
		},
		"the name leads elsewhere": {
			objects: []client.Object{published("kube-apiserver", host, balancer)},
			dns:     map[string]any{balancer: "192.0.2.1", host: "203.0.113.9"}, status: metav1.ConditionFalse, reason: unreachable, words: []string{"203.0.113.9", "192.0.2.1", "change its DNS record"},
		},
		"DNS does not answer": {
			objects: []client.Object{published("kube-apiserver", host, balancer)},
			dns:     map[string]any{balancer: "192.0.2.1", host: noAnswer}, status: metav1.ConditionUnknown, reason: hyperv1.StatusUnknownReason, words: []string{"server misbehaving"},
		},
		"DNS does not answer in time": {
			objects: []client.Object{published("kube-apiserver", host, balancer)},
			dns:     map[string]any{balancer: "192.0.2.1", host: context.DeadlineExceeded}, status: metav1.ConditionUnknown, reason: hyperv1.StatusUnknownReason, words: []string{"within 5s"},
		},
		"the load balancer does not resolve": {
			objects: []client.Object{published("kube-apiserver", host, balancer)},
			dns:     map[string]any{host: "192.0.2.1"}, status: metav1.ConditionUnknown, reason: hyperv1.StatusUnknownReason, words: []string{balancer},
		},
		"one of two names is wrong": {
			objects: []client.Object{published("kube-apiserver", host, balancer), route("konnectivity-server", tunnels, balancer, nil)},
			dns:     map[string]any{host: noAnswer, balancer: "192.0.2.1"}, status: metav1.ConditionFalse, reason: unreachable, words: []string{tunnels},
		},
		"a private name leads to the endpoint": {
			objects: []client.Object{private("kube-apiserver-private-external", host, endpoint)},
			dns:     map[string]any{host: "10.0.0.5", endpoint: "10.0.0.5"}, status: metav1.ConditionTrue, reason: hyperv1.AsExpectedReason,
		},
		"a private name may exist only in the VPC": {
			objects: []client.Object{private("kube-apiserver-private-external", host, endpoint)},
			dns:     map[string]any{endpoint: "10.0.0.5"}, status: metav1.ConditionUnknown, reason: hyperv1.StatusUnknownReason, words: []string{host, endpoint},
		},
		"names of the private zone are not checked": {
			objects: []client.Object{route("kube-apiserver-internal", "api.demo.hypershift.local", balancer, map[string]string{hyperv1.InternalRouteLabel: "true"})},
			status:  metav1.ConditionUnknown, reason: hyperv1.StatusUnknownReason, words: []string{"no host names"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeDNS(t, c.objects...)
			e.dns = c.dns
			e.settle()
			e.ExpectCondition(hyperv1.ExternalDNSReachable, c.status, c.reason, c.words...)
		})
	}
}

// A resolver remembers for minutes that a name does not exist.
func TestNewNamesAreNotLookedUpAtOnce(t *testing.T) {
	e := newFakeDNS(t, published("kube-apiserver", host, balancer))
	e.Restart()
	e.Once()
	e.Clock.Step(registration - time.Second)
	e.Once()
	e.ExpectCondition(hyperv1.ExternalDNSReachable, metav1.ConditionUnknown, hyperv1.WaitingForReason, host)
	if e.lookups != 0 {
		t.Errorf("there were %d lookups", e.lookups)
	}
	e.dns = map[string]any{host: "192.0.2.1", balancer: "192.0.2.1"}
	e.Clock.Step(time.Second)
	e.Once()
	e.ExpectCondition(hyperv1.ExternalDNSReachable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestTrueConditionStaysWithoutAnAnswer(t *testing.T) {
	e := newFakeDNS(t, published("kube-apiserver", host, balancer))
	e.dns = map[string]any{host: "192.0.2.1", balancer: "192.0.2.1"}
	e.settle()
	e.Restart() // a new process
	e.Once()
	e.ExpectCondition(hyperv1.ExternalDNSReachable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.dns[host] = &net.DNSError{Err: "server misbehaving", Name: host}
	e.settle()
	e.ExpectCondition(hyperv1.ExternalDNSReachable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.dns[host] = "203.0.113.9"
	e.settle()
	e.ExpectCondition(hyperv1.ExternalDNSReachable, metav1.ConditionFalse, hyperv1.ExternalDNSHostNotReachableReason)
}

// The message would otherwise change with each attempt, and so would the status.
func TestMessageIsStable(t *testing.T) {
	e := newFakeDNS(t, published("kube-apiserver", host, balancer))
	message := func() string {
		e.settle()
		return meta.FindStatusCondition(e.HCP().Status.Conditions, hyperv1.ExternalDNSReachable).Message
	}
	if before, after := message(), message(); before != after {
		t.Errorf("the message %q became %q", before, after)
	}
}

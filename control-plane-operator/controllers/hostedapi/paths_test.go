package hostedapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// svc is a Service with a load balancer, which may have no host yet.
func svc(name, host string, port int32, edit ...func(*corev1.Service)) corev1.Service {
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.57.0.1", Ports: []corev1.ServicePort{{Port: port}},
	}}
	if host != "" {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
	}
	for _, e := range edit {
		e(&s)
	}
	return s
}

func toAPI(name, host string, labels map[string]string) routev1.Route {
	return routev1.Route{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: routev1.RouteSpec{Host: host, To: routev1.RouteTargetReference{Name: names.KubeAPIServer}}}
}

func TestPathsOfTheAPIServer(t *testing.T) {
	ours := map[string]string{hyperv1.HCPRouteLabel: namespace}
	inner := map[string]string{hyperv1.HCPRouteLabel: namespace, hyperv1.InternalRouteLabel: "true"}
	routes := []routev1.Route{
		toAPI("kube-apiserver", "api.example.com", ours), toAPI("kube-apiserver-internal", "api.demo.hypershift.local", inner),
		{ObjectMeta: metav1.ObjectMeta{Name: "konnectivity-server", Labels: inner}, Spec: routev1.RouteSpec{Host: "k.demo", To: routev1.RouteTargetReference{Name: names.KonnectivityServer}}},
	}
	by := func(how hyperv1.ServicePublishingStrategy) []hyperv1.ServicePublishingStrategyMapping {
		return []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: how}}
	}
	for name, c := range map[string]struct {
		how      hyperv1.ServicePublishingStrategy
		services []corev1.Service
		routes   []routev1.Route
		shared   bool
		want     []path
	}{
		"a load balancer of the API server": {
			how: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}, services: []corev1.Service{svc(names.KubeAPIServer, "lb.example.com", 6443)},
			want: []path{{"Service kube-apiserver", "lb.example.com:6443", "lb.example.com", "10.57.0.1:6443", false}},
		},
		"a name that the user has chosen is asked for at the load balancer": {
			how:      hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer, LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: "api.example.com"}},
			services: []corev1.Service{svc(names.KubeAPIServer, "lb.example.com", 6443)},
			want:     []path{{"Service kube-apiserver", "lb.example.com:6443", "api.example.com", "10.57.0.1:6443", false}},
		},
		"one that admits only some addresses may refuse ours": {
			how: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer},
			services: []corev1.Service{svc(names.KubeAPIServer, "lb.example.com", 6443, func(s *corev1.Service) {
				s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			})},
			want: []path{{"Service kube-apiserver", "lb.example.com:6443", "lb.example.com", "10.57.0.1:6443", true}},
		},
		"a load balancer that has no host yet is no path": {how: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}, services: []corev1.Service{svc(names.KubeAPIServer, "", 6443)}},
		"public and private, by the routers": {
			how:      hyperv1.ServicePublishingStrategy{Type: hyperv1.Route},
			services: []corev1.Service{svc(names.Router, "public.example.com", 443), svc(names.PrivateRouter, "private.example.com", 443), svc(names.KubeAPIServer, "", 6443, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })},
			routes:   routes,
			want: []path{
				{"Service private-router", "private.example.com:443", "api.demo.hypershift.local", "10.57.0.1:443", true},
				{"Service router", "public.example.com:443", "api.example.com", "10.57.0.1:443", false},
			},
		},
		"a router that serves konnectivity alone is no path": {
			how:      hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer},
			services: []corev1.Service{svc(names.PrivateRouter, "private.example.com", 443), svc(names.KubeAPIServerPrivate, "own.example.com", 6443)},
			routes:   routes[2:],
			want:     []path{{"Service kube-apiserver-private", "own.example.com:6443", "api.demo.hypershift.local", "10.57.0.1:6443", true}},
		},
		"a node port": {
			how: hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "192.0.2.7"}},
			services: []corev1.Service{svc(names.KubeAPIServer, "", 6443, func(s *corev1.Service) {
				s.Spec.Type = corev1.ServiceTypeNodePort
				s.Spec.Ports[0].NodePort = 30443
			})},
			want: []path{{"Service kube-apiserver", "192.0.2.7:30443", "192.0.2.7", "10.57.0.1:6443", false}},
		},
		"a Route that the management cluster serves": {
			how: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, routes: []routev1.Route{toAPI("kube-apiserver", "api.apps.example.com", nil)},
			want: []path{{"Route kube-apiserver", "api.apps.example.com:443", "api.apps.example.com", "", false}},
		},
		"the shared router": {
			how:    hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.example.com"}},
			shared: true, services: []corev1.Service{svc(names.KubeAPIServer, "", 6443, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })}, routes: routes,
			want: []path{{"Service shared-router", "shared.example.com:443", "api.example.com", "10.57.0.1:6443", false}},
		},
		"the shared router of a private cluster": {
			how:    hyperv1.ServicePublishingStrategy{Type: hyperv1.Route},
			shared: true, services: []corev1.Service{svc(names.KubeAPIServer, "", 6443, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })}, routes: routes,
			want: []path{{"Service kube-apiserver", "10.57.0.1:6443", "api.demo.hypershift.local", "", false}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: hyperv1.HostedControlPlaneSpec{Services: by(c.how)}}
			if c.shared {
				hcp.Annotations = map[string]string{hyperv1.SharedRouterPublicHostAnnotation: "shared.example.com", hyperv1.SharedRouterPrivateHostAnnotation: "private.example.com"}
			}
			if diff := cmp.Diff(c.want, pathsOf(hcp, c.services, c.routes), cmp.AllowUnexported(path{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

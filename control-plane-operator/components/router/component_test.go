package router

import (
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// route routes host to a Service.
func route(name, host, service string) routev1.Route {
	return routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: name, Labels: map[string]string{hyperv1.HCPRouteLabel: "clusters-demo"}},
		Spec: routev1.RouteSpec{
			Host: host, To: routev1.RouteTargetReference{Kind: "Service", Name: service}, Port: &routev1.RoutePort{TargetPort: intstr.FromString("https")},
		},
	}
}

func service(ip string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: ports}}
}

func https(port int32) corev1.ServicePort { return corev1.ServicePort{Name: "https", Port: port} }

// published is a cluster with an API server that the router serves.
func published(env *target.ControlPlane) {
	env.Routes = []routev1.Route{
		route("kube-apiserver", "api.demo.example.com", names.KubeAPIServer),
		route("kube-apiserver-internal", "api.demo.hypershift.local", names.KubeAPIServer),
		route("konnectivity-server", "konnectivity-server.apps.demo.hypershift.local", names.KonnectivityServer),
	}
	env.Services = map[string]*corev1.Service{names.KubeAPIServer: service("10.57.0.1", https(6443)), names.KonnectivityServer: service("10.57.0.2", https(8091))}
}

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component,
		targettest.Case{Name: "published", Adapt: published},
		targettest.Case{Name: "highly-available", Adapt: func(env *target.ControlPlane) {
			published(env)
			env.HCP.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
		}},
		targettest.Case{Name: "asleep", Adapt: func(env *target.ControlPlane) {
			published(env)
			env.HCP.Annotations[hyperv1.SleepPhaseAnnotation] = string(hyperv1.SleepPhaseAsleep)
			env.HCP.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}}}
			env.HCP.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
		}},
		targettest.Case{Name: "private", Adapt: func(env *target.ControlPlane) {
			published(env)
			env.Routes = env.Routes[2:]
		}},
	)
}

// Connections without a server name go to the API server if the router serves it, and are closed if it has its own load
// balancer.
func TestConnectionsWithoutAServerName(t *testing.T) {
	env := targettest.Env()
	published(env)
	const fallback = "default_backend kube-apiserver\n"
	if text := configuration(served(env)); !strings.Contains(text, fallback) {
		t.Error("pods, which call it by an address, do not find the API server")
	}
	env.Routes = env.Routes[2:]
	if text := configuration(served(env)); strings.Contains(text, "default_backend") {
		t.Errorf("leads somewhere:\n%s", text)
	}
}

func TestServedRoutes(t *testing.T) {
	const host = "konnectivity.example.com"
	ours := route("konnectivity-server", host, names.KonnectivityServer)
	longest := strings.Repeat("a", 253)
	foreign, other := ours, ours
	foreign.Labels = nil
	other.Labels = map[string]string{hyperv1.HCPRouteLabel: "clusters-other"}
	for name, c := range map[string]struct {
		routes  []routev1.Route
		service *corev1.Service
		want    []rule
	}{
		"a Route of ours":                              {routes: []routev1.Route{ours}, service: service("10.57.0.2", https(8091)), want: []rule{{host, names.KonnectivityServer, "10.57.0.2:8091"}}},
		"an address of IPv6":                           {routes: []routev1.Route{ours}, service: service("fd00::2", https(8091)), want: []rule{{host, names.KonnectivityServer, "[fd00::2]:8091"}}},
		"the port that the Route names":                {routes: []routev1.Route{ours}, service: service("10.57.0.2", corev1.ServicePort{Name: "other", Port: 1}, https(8091)), want: []rule{{host, names.KonnectivityServer, "10.57.0.2:8091"}}},
		"a Route that the management cluster serves":   {routes: []routev1.Route{foreign}, service: service("10.57.0.2", https(8091))},
		"a Route of another control plane":             {routes: []routev1.Route{other}, service: service("10.57.0.2", https(8091))},
		"a Route without a host yet":                   {routes: []routev1.Route{route("k", "", names.KonnectivityServer)}, service: service("10.57.0.2", https(8091))},
		"a host that is no host":                       {routes: []routev1.Route{route("k", "a }\n    use_backend b", names.KonnectivityServer)}, service: service("10.57.0.2", https(8091))},
		"a host of the maximum length":                 {routes: []routev1.Route{route("k", longest, names.KonnectivityServer)}, service: service("10.57.0.2", https(8091)), want: []rule{{longest, names.KonnectivityServer, "10.57.0.2:8091"}}},
		"a host that is longer than a name in DNS":     {routes: []routev1.Route{route("k", longest+"a", names.KonnectivityServer)}, service: service("10.57.0.2", https(8091))},
		"a Service that has no address yet":            {routes: []routev1.Route{ours}, service: service("", https(8091))},
		"a Service that is not there yet":              {routes: []routev1.Route{ours}},
		"the same host twice":                          {routes: []routev1.Route{route("z", host, "other"), ours}, service: service("10.57.0.2", https(8091)), want: []rule{{host, names.KonnectivityServer, "10.57.0.2:8091"}}},
		"a host in capitals, which is the same to TLS": {routes: []routev1.Route{route("k", "Konnectivity.Example.COM", names.KonnectivityServer)}, service: service("10.57.0.2", https(8091)), want: []rule{{host, names.KonnectivityServer, "10.57.0.2:8091"}}},
	} {
		t.Run(name, func(t *testing.T) {
			env := targettest.Env()
			env.Routes, env.Services = c.routes, map[string]*corev1.Service{names.KonnectivityServer: c.service}
			if got := served(env); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if wanted := Component.Wanted(env); wanted != (len(c.want) > 0) {
				t.Errorf("there is a router: %v", wanted)
			}
		})
	}
}

// With the shared router there is one of the cluster as long as a load balancer leads to it: also after the cluster has moved.
func TestTheRouterStaysAsLongAsALoadBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		shared    bool
		balancers []string
		want      bool
	}{
		"its own":                       {false, nil, true},
		"shared":                        {true, nil, false},
		"shared, with a public one":     {true, []string{names.Router}, true},
		"shared, with an internal one":  {true, []string{names.PrivateRouter}, true},
		"its own, after the shared one": {false, []string{names.PrivateRouter}, true},
	} {
		env := targettest.Env()
		published(env)
		if c.shared {
			env.HCP.Annotations[hyperv1.SharedRouterPublicHostAnnotation], env.HCP.Annotations[hyperv1.SharedRouterPrivateHostAnnotation] = "public.example.com", "private.example.com"
		}
		for _, balancer := range c.balancers {
			env.Services[balancer] = service("10.57.0.3", https(443))
		}
		if got := Component.Wanted(env); got != c.want {
			t.Errorf("%s: there is a router: %v, want %v", name, got, c.want)
		}
	}
}

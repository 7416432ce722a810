package hostedcontrolplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// modes is the table of access.go with its results, where only the control plane's router serves Routes.
var modes = map[hyperv1.AWSEndpointAccessType]map[hyperv1.PublishingStrategyType][]string{
	hyperv1.Public: {
		hyperv1.LoadBalancer: {
			"Service konnectivity-server", "Service kube-apiserver: balanced internet-facing", "Service router: balanced internet-facing",
			"Route konnectivity-server konnectivity.demo.example.com: served",
		},
		hyperv1.Route: {
			"Service konnectivity-server", "Service kube-apiserver", "Service router: balanced internet-facing",
			"Route konnectivity-server konnectivity.demo.example.com: served", "Route kube-apiserver api.demo.example.com: served",
		},
	},
	hyperv1.PublicAndPrivate: {
		hyperv1.LoadBalancer: {
			"Service konnectivity-server", "Service kube-apiserver: balanced internet-facing cross-zone", "Service kube-apiserver-private: balanced internal cross-zone",
			"Service private-router: balanced internal cross-zone",
			"Route konnectivity-server konnectivity-server.apps.demo.hypershift.local: served internal",
		},
		hyperv1.Route: {
			"Service konnectivity-server", "Service kube-apiserver",
			"Service private-router: balanced internal cross-zone", "Service router: balanced internet-facing cross-zone",
			"Route konnectivity-server konnectivity-server.apps.demo.hypershift.local: served internal", "Route kube-apiserver api.demo.example.com: served",
			"Route kube-apiserver-internal api.demo.hypershift.local: served internal",
		},
	},
	hyperv1.Private: {
		hyperv1.LoadBalancer: {
			"Service konnectivity-server", "Service kube-apiserver", "Service kube-apiserver-private: balanced internal cross-zone",
			"Service private-router: balanced internal cross-zone",
			"Route konnectivity-server konnectivity-server.apps.demo.hypershift.local: served internal",
		},
		hyperv1.Route: {
			"Service konnectivity-server", "Service kube-apiserver", "Service private-router: balanced internal cross-zone",
			"Route konnectivity-server konnectivity-server.apps.demo.hypershift.local: served internal",
			"Route kube-apiserver-internal api.demo.hypershift.local: served internal", "Route kube-apiserver-private api.demo.example.com: served internal private",
		},
	},
}

// describe returns an object in one line, as in the table above.
func describe(obj client.Object) string {
	var words []string
	add := func(word string, yes bool) {
		if yes {
			words = append(words, word)
		}
	}
	line := ""
	switch o := obj.(type) {
	case *corev1.Service:
		line = "Service " + o.Name
		add("balanced", o.Spec.Type == corev1.ServiceTypeLoadBalancer && o.Annotations[loadbalancers.Type] == "nlb")
		add("node port", o.Spec.Type == corev1.ServiceTypeNodePort)
		host := o.Annotations[hyperv1.CurrentExternalDNSHostnameAnnotation]
		add("for "+host, host != "" && o.Annotations[hyperv1.ExternalDNSHostnameAnnotation] == host)
		add("internal", o.Annotations[loadbalancers.Internal] == "true" && o.Annotations[loadbalancers.Scheme] == "internal")
		add("internet-facing", o.Annotations[loadbalancers.Internal] == "" && o.Annotations[loadbalancers.Scheme] == "internet-facing")
		add("cross-zone", o.Annotations[loadbalancers.CrossZone] == "true" && o.Annotations[loadbalancers.Attributes] != "")
	case *routev1.Route:
		line = "Route " + o.Name + " " + o.Spec.Host
		add("served", o.Labels[hyperv1.HCPRouteLabel] == namespace)
		add("internal", o.Labels[hyperv1.InternalRouteLabel] == "true")
		add("private", o.Labels[hyperv1.RouteVisibilityLabel] == "private")
	}
	if len(words) > 0 {
		line += ": " + strings.Join(words, " ")
	}
	return line
}

// exposed returns the existing objects, sorted.
func (e *fakeCloudController) exposed() []string {
	services, routes := &corev1.ServiceList{}, &routev1.RouteList{}
	e.Must(e.Admin().List(e.T.Context(), services))
	e.Must(e.Admin().List(e.T.Context(), routes))
	var out []string
	for i := range services.Items {
		out = append(out, describe(&services.Items[i]))
	}
	for i := range routes.Items {
		out = append(out, describe(&routes.Items[i]))
	}
	slices.Sort(out)
	return out
}

// becoming lists the objects that exist while nodes of one access mode may not follow the other one yet: all of both, except for the names
// of public clients, which stay public.
func becoming(from, to hyperv1.AWSEndpointAccessType, api hyperv1.PublishingStrategyType) []string {
	const internal, public = "konnectivity-server.apps.demo.hypershift.local: served internal", "konnectivity.demo.example.com: served"
	host := map[bool]string{true: internal, false: public}
	out := slices.DeleteFunc(slices.Clone(modes[from.With(to)][api]), func(line string) bool {
		return strings.HasPrefix(line, "Route konnectivity-server ")
	})
	out = append(out, "Route konnectivity-server "+host[to.Has(hyperv1.Private)])
	if from.Has(hyperv1.Private) != to.Has(hyperv1.Private) {
		out = append(out, "Route konnectivity-server-former "+host[from.Has(hyperv1.Private)])
		if api == hyperv1.LoadBalancer {
			out = append(out, "Service router: balanced internet-facing cross-zone") // for the public tunnels
		}
	}
	return slices.Sorted(slices.Values(out))
}

// path returns the nodes' path in an access mode.
func path(mode hyperv1.AWSEndpointAccessType) hyperv1.AWSEndpointAccessType {
	if mode.Has(hyperv1.Private) {
		return hyperv1.Private
	}
	return hyperv1.Public
}

func TestAccessModes(t *testing.T) {
	for _, api := range []hyperv1.PublishingStrategyType{hyperv1.LoadBalancer, hyperv1.Route} {
		for from := range modes {
			for to := range modes {
				t.Run(fmt.Sprintf("%s becomes %s, API by %s", from, to, api), func(t *testing.T) {
					e := newFakeCloudController(t, controlPlane(from, api))
					e.settle()
					if d := cmp.Diff(slices.Sorted(slices.Values(modes[from][api])), e.exposed()); d != "" {
						t.Errorf("%s (-want +got):\n%s", from, d)
					}
					e.nodesUse(path(from))
					e.settle()
					e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = to })
					e.settle()
					if d := cmp.Diff(becoming(from, to, api), e.exposed()); d != "" {
						t.Errorf("%s becomes %s, before nodes follow (-want +got):\n%s", from, to, d)
					}
					e.nodesUse(hyperv1.PublicAndPrivate)
					e.settle()
					if d := cmp.Diff(becoming(from, to, api), e.exposed()); path(from) != path(to) && d != "" {
						t.Errorf("%s becomes %s, while nodes follow (-want +got):\n%s", from, to, d)
					}
					e.nodesUse(path(to))
					e.settle()
					if d := cmp.Diff(slices.Sorted(slices.Values(modes[to][api])), e.exposed()); d != "" {
						t.Errorf("%s after %s (-want +got):\n%s", to, from, d)
					}
					if missing := e.Ready(hyperv1.InfrastructureReady)(e.T.Context()); missing != "" {
						t.Error(missing)
					}
				})
			}
		}
	}
}

// OpenShift runs a router: a load balancer of our own would be useless.
func TestManagementClusterWithItsOwnRouter(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Public, hyperv1.LoadBalancer))
	e.servesRoutes = true
	e.settle()
	want := []string{
		"Route konnectivity-server konnectivity.demo.example.com",
		"Service konnectivity-server", "Service kube-apiserver: balanced internet-facing",
	}
	if d := cmp.Diff(want, e.exposed()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLoadBalancerIsDeletedAfterItsEndpointService(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Private, hyperv1.Route))
	e.settle()
	es := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.PrivateRouter}}
	e.Create(es)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public })
	e.nodesUse(hyperv1.Public)
	e.settle()
	if !slices.ContainsFunc(e.exposed(), func(s string) bool { return strings.Contains(s, names.PrivateRouter) }) {
		t.Errorf("the private router went while it was offered: %v", e.exposed())
	}
	if err := e.Admin().Delete(t.Context(), es); err != nil {
		t.Fatal(err)
	}
	e.settle()
	if d := cmp.Diff(slices.Sorted(slices.Values(modes[hyperv1.Public][hyperv1.Route])), e.exposed()); d != "" {
		t.Error(d)
	}
}

func TestAPIEndpoint(t *testing.T) {
	for name, c := range map[string]struct {
		mode hyperv1.AWSEndpointAccessType
		api  hyperv1.PublishingStrategyType
		host string // of the load balancer
		want hyperv1.APIEndpoint
	}{
		"at its load balancer":                 {hyperv1.Public, hyperv1.LoadBalancer, "", hyperv1.APIEndpoint{Host: "a-kube-apiserver-0123456789abcdef.elb.us-east-1.amazonaws.com", Port: 6443}},
		"at the name of its load balancer":     {hyperv1.PublicAndPrivate, hyperv1.LoadBalancer, "api.example.com", hyperv1.APIEndpoint{Host: "api.example.com", Port: 6443}},
		"at the name of its Route":             {hyperv1.Public, hyperv1.Route, "", hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 443}},
		"at the name of its Route, in private": {hyperv1.Private, hyperv1.Route, "", hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 443}},
		"in the local zone":                    {hyperv1.Private, hyperv1.LoadBalancer, "", hyperv1.APIEndpoint{Host: "api.demo.hypershift.local", Port: 6443}},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := controlPlane(c.mode, c.api)
			if c.host != "" {
				for i := range hcp.Spec.Services {
					if s := &hcp.Spec.Services[i]; s.Service == hyperv1.APIServer {
						s.ServicePublishingStrategy.LoadBalancer = &hyperv1.LoadBalancerPublishingStrategy{Hostname: c.host}
					}
				}
			}
			e := newFakeCloudController(t, hcp)
			e.settle()
			if got := e.HCP().Status.ControlPlaneEndpoint; got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAnnotationsOfLoadBalancers(t *testing.T) {
	hcp := controlPlane(hyperv1.PublicAndPrivate, hyperv1.Route)
	hcp.Annotations[hyperv1.TargetNodeLabelsAnnotation] = "role=ingress"
	hcp.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AllowedCIDRBlocks: []hyperv1.CIDRBlock{"203.0.113.0/24", "198.51.100.0/24", "203.0.113.0/24"}}
	e := newFakeCloudController(t, hcp)
	e.settle()
	for name, ranges := range map[string][]string{"router": {"198.51.100.0/24", "203.0.113.0/24"}, "private-router": nil} {
		svc := testenv.Named(e.Env, name, &corev1.Service{})
		if got := svc.Annotations[loadbalancers.TargetNodeLabels]; got != "role=ingress" {
			t.Errorf("%s: targets %q", name, got)
		}
		if got := svc.Spec.LoadBalancerSourceRanges; !slices.Equal(got, ranges) {
			t.Errorf("%s: open to %v, want %v", name, got, ranges)
		}
	}
}

func TestSettingsOfTheInstallation(t *testing.T) {
	hcp := controlPlane(hyperv1.PublicAndPrivate, hyperv1.LoadBalancer)
	hcp.Annotations[hyperv1.LoadBalancerSubnetsAnnotation] = "subnet-1,subnet-2"
	e := newFakeCloudController(t, hcp)
	e.loadBalancers = loadbalancers.Settings{Class: "service.k8s.aws/nlb", Annotations: map[string]string{
		loadbalancers.Type: "external", loadbalancers.Subnets: "subnet-3", loadbalancers.Attributes: "deletion_protection.enabled=true",
		loadbalancers.CrossZone: "false", "example.com/team": "a",
	}}
	e.settle()
	for name, scheme := range map[string]string{"kube-apiserver": "internet-facing", "kube-apiserver-private": "internal", "private-router": "internal"} {
		svc := e.service(name)
		if got := ptr.Deref(svc.Spec.LoadBalancerClass, ""); got != "service.k8s.aws/nlb" {
			t.Errorf("%s has class %q", name, got)
		}
		for key, want := range map[string]string{
			loadbalancers.Type: "external", loadbalancers.Subnets: "subnet-1,subnet-2", loadbalancers.Scheme: scheme, "example.com/team": "a",
			loadbalancers.Attributes: "deletion_protection.enabled=true,load_balancing.cross_zone.enabled=true", loadbalancers.CrossZone: "true",
		} {
			if got := svc.Annotations[key]; got != want {
				t.Errorf("%s: annotation %s is %q, want %q", name, key, got, want)
			}
		}
	}
	if svc := e.service("konnectivity-server"); svc.Spec.LoadBalancerClass != nil || svc.Annotations["example.com/team"] != "" {
		t.Errorf("a Service without a load balancer has class %v and annotations %v", svc.Spec.LoadBalancerClass, svc.Annotations)
	}
}

// The API server refuses another class, and another controller would not delete the load balancer of the first one.
func TestExistingLoadBalancersKeepTheirController(t *testing.T) {
	before := loadbalancers.Settings{Class: "example.com/before", Annotations: map[string]string{loadbalancers.Type: "external"}}
	after := loadbalancers.Settings{Class: "example.com/after", Annotations: map[string]string{loadbalancers.Type: "nlb-ip", "example.com/team": "a"}}
	type controller struct{ class, kind string }
	of := func(svc *corev1.Service) controller {
		return controller{ptr.Deref(svc.Spec.LoadBalancerClass, ""), svc.Annotations[loadbalancers.Type]}
	}
	for name, c := range map[string]struct {
		before, after loadbalancers.Settings
		webhook       string // class that a webhook sets on new Services
		want          controller
	}{
		"a class is added":     {loadbalancers.Settings{}, after, "", controller{"", "nlb"}},
		"a class is changed":   {before, after, "", controller{"example.com/before", "external"}},
		"a class is removed":   {before, loadbalancers.Settings{}, "", controller{"example.com/before", "external"}},
		"a class of a webhook": {loadbalancers.Settings{}, after, "example.com/webhook", controller{"example.com/webhook", "nlb"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeCloudController(t, controlPlane(hyperv1.Public, hyperv1.LoadBalancer))
			e.loadBalancers = c.before
			e.settle()
			if c.webhook != "" {
				svc := e.service("kube-apiserver")
				svc.Spec.LoadBalancerClass = &c.webhook
				e.Must(e.Admin().Update(t.Context(), svc))
			}
			e.loadBalancers = c.after
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate })
			e.settle()
			if got := of(e.service("kube-apiserver")); got != c.want {
				t.Errorf("the existing Service has %+v, want %+v", got, c.want)
			}
			if got, want := e.service("kube-apiserver").Annotations["example.com/team"], c.after.Annotations["example.com/team"]; got != want {
				t.Errorf("the existing Service has annotation %q, want %q", got, want)
			}
			if got, want := ptr.Deref(e.service("private-router").Spec.LoadBalancerClass, ""), c.after.Class; got != want {
				t.Errorf("the new Service has class %q, want %q", got, want)
			}
		})
	}
}

// The Routes of the management cluster's router have no address.
func TestRoutesAreAdmitted(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.PublicAndPrivate, hyperv1.Route))
	e.settle()
	for name, host := range map[string]string{"kube-apiserver": "a-router-", "kube-apiserver-internal": "a-private-router-"} {
		route := testenv.Named(e.Env, name, &routev1.Route{})
		if len(route.Status.Ingress) != 1 || !strings.HasPrefix(route.Status.Ingress[0].RouterCanonicalHostname, host) {
			t.Errorf("%s is admitted at %+v, want %s...", name, route.Status.Ingress, host)
		}
	}
}

// A machine that was started meanwhile may use the path of the previous mode.
func TestASecondChangeOfTheAccessModeKeepsThePathOfTheFirst(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Public, hyperv1.Route))
	e.settle()
	e.nodesUse(hyperv1.Public)
	set := func(mode hyperv1.AWSEndpointAccessType) {
		t.Helper()
		e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = mode })
		e.settle()
	}
	set(hyperv1.Private)
	set(hyperv1.Public)
	if got := e.HCP().Status.ServedEndpointAccess; got != hyperv1.PublicAndPrivate {
		t.Errorf("%s is served, although the machines were not checked", got)
	}
	e.nodesUse(hyperv1.PublicAndPrivate)
	set(hyperv1.PublicAndPrivate)
	e.nodesUse(hyperv1.Public) // of a cluster with nodes that do not follow
	set(hyperv1.Private)
	if got := e.HCP().Status.ServedEndpointAccess; got != hyperv1.PublicAndPrivate {
		t.Errorf("%s is served, and nodes use the public address", got)
	}
	e.nodesUse(hyperv1.Private)
	e.settle()
	if d := cmp.Diff(slices.Sorted(slices.Values(modes[hyperv1.Private][hyperv1.Route])), e.exposed()); d != "" {
		t.Errorf("after all nodes follow (-want +got):\n%s", d)
	}
}

// Users keep the address that they have as long as it is served.
func TestAPIEndpointWhileTheAccessModeChanges(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Public, hyperv1.LoadBalancer))
	e.settle()
	const public, private = "a-kube-apiserver-0123456789abcdef.elb.us-east-1.amazonaws.com", "api.demo.hypershift.local"
	expect := func(when, want string) {
		t.Helper()
		e.settle()
		if got := e.HCP().Status.ControlPlaneEndpoint.Host; got != want {
			t.Errorf("%s: got %s, want %s", when, got, want)
		}
	}
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
	expect("nodes use the public address", public)
	e.nodesUse(hyperv1.Private)
	expect("nodes use the endpoint", private)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public })
	expect("nodes use the endpoint, and the cluster becomes public", public)
}

func TestDeletionWhileTheAccessModeChanges(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.Public, hyperv1.Route))
	e.settle()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
	e.settle()
	e.Must(e.Admin().Delete(t.Context(), controlPlane("", hyperv1.Route)))
	e.settle()
	if left := e.exposed(); len(left) > 0 || len(e.balancers) > 0 {
		t.Errorf("left: %v, %v", left, e.balancers)
	}
}

package hostedcontrolplane

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
)

func byNodePort(address string, port int32) hyperv1.ServicePublishingStrategy {
	return hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: address, Port: port}}
}

func byBalancer(host string) hyperv1.ServicePublishingStrategy {
	return hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer, LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: host}}
}

func publish(hcp *hyperv1.HostedControlPlane, service hyperv1.ServiceType, how hyperv1.ServicePublishingStrategy) {
	at := slices.IndexFunc(hcp.Spec.Services, func(m hyperv1.ServicePublishingStrategyMapping) bool { return m.Service == service })
	hcp.Spec.Services[at].ServicePublishingStrategy = how
}

// onNone is a control plane outside a cloud.
func onNone(api, tunnels hyperv1.ServicePublishingStrategy) *hyperv1.HostedControlPlane {
	hcp := controlPlane("", hyperv1.Route)
	hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{
		{Service: hyperv1.APIServer, ServicePublishingStrategy: api},
		{Service: hyperv1.Konnectivity, ServicePublishingStrategy: tunnels},
		// These are not served in Kubernetes, however they are published.
		{Service: hyperv1.Ignition, ServicePublishingStrategy: byNodePort("192.0.2.1", 0)},
		{Service: hyperv1.OIDC, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.S3}},
	}
	return hcp
}

func TestPublishingStrategies(t *testing.T) {
	const balancer = "-0123456789abcdef.elb.us-east-1.amazonaws.com"
	type way struct {
		how hyperv1.ServicePublishingStrategy
		// made is the resulting objects except the router's.
		made []string
		at   target.Host
	}
	apis := map[string]way{
		"a load balancer":           {byBalancer(""), []string{"Service kube-apiserver: balanced internet-facing"}, target.Host{Name: "a-kube-apiserver" + balancer, Port: 6443}},
		"a load balancer by a name": {byBalancer("api.example.com"), []string{"Service kube-apiserver: balanced for api.example.com internet-facing"}, target.Host{Name: "api.example.com", Port: 6443}},
		"a chosen node port":        {byNodePort("192.0.2.1", 31000), []string{"Service kube-apiserver: node port"}, target.Host{Name: "192.0.2.1", Port: 31000}},
		"any node port":             {byNodePort("nodes.example.com", 0), []string{"Service kube-apiserver: node port"}, target.Host{Name: "nodes.example.com", Port: allocatedPort}},
		"a Route": {byRoute("api.example.com"), []string{
			"Route kube-apiserver api.example.com: served", "Service kube-apiserver",
		}, target.Host{Name: "api.example.com", Port: 443}},
	}
	tunnels := map[string]way{
		"a load balancer":           {byBalancer(""), []string{"Service konnectivity-server: balanced internet-facing"}, target.Host{Name: "a-konnectivity-server" + balancer, Port: 8091}},
		"a load balancer by a name": {byBalancer("tunnels.example.com"), []string{"Service konnectivity-server: balanced for tunnels.example.com internet-facing"}, target.Host{Name: "tunnels.example.com", Port: 8091}},
		"a chosen node port":        {byNodePort("192.0.2.1", 31001), []string{"Service konnectivity-server: node port"}, target.Host{Name: "192.0.2.1", Port: 31001}},
		"any node port":             {byNodePort("192.0.2.1", 0), []string{"Service konnectivity-server: node port"}, target.Host{Name: "192.0.2.1", Port: allocatedPort}},
		"a Route": {byRoute("tunnels.example.com"), []string{
			"Route konnectivity-server tunnels.example.com: served", "Service konnectivity-server",
		}, target.Host{Name: "tunnels.example.com", Port: 443}},
	}
	for apiName, api := range apis {
		for tunnelsName, tunnel := range tunnels {
			t.Run("the API by "+apiName+", tunnels by "+tunnelsName, func(t *testing.T) {
				e := newFakeCloudController(t, onNone(api.how, tunnel.how))
				e.settle()
				want := slices.Concat(api.made, tunnel.made)
				if api.how.Type == hyperv1.Route || tunnel.how.Type == hyperv1.Route {
					want = append(want, "Service router: balanced internet-facing")
				}
				if d := cmp.Diff(slices.Sorted(slices.Values(want)), e.exposed()); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if missing := e.Ready(hyperv1.InfrastructureReady)(e.T.Context()); missing != "" {
					t.Error(missing)
				}
				hcp := e.HCP()
				if got := hcp.Status.ControlPlaneEndpoint; got != (hyperv1.APIEndpoint{Host: api.at.Name, Port: api.at.Port}) {
					t.Errorf("the API is at %+v, want %+v", got, api.at)
				}
				if got, err := publishing.Konnectivity(t.Context(), e.Client(), hcp, hyperv1.Public); err != nil || got != tunnel.at {
					t.Errorf("tunnels are at %+v (%v), want %+v", got, err, tunnel.at)
				}
			})
		}
	}
}

// A Route of konnectivity without a host name would need a record in DNS. The API server's load balancer is known by a name, and serves it,
// too.
func TestTunnelsUseTheLoadBalancerOfTheAPIServer(t *testing.T) {
	for name, host := range map[string]string{"": "a-kube-apiserver-0123456789abcdef.elb.us-east-1.amazonaws.com", "api.example.com": "api.example.com"} {
		hcp := onNone(byBalancer(name), byRoute(""))
		hcp.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AllowedCIDRBlocks: []hyperv1.CIDRBlock{"192.0.2.0/24"}}
		e := newFakeCloudController(t, hcp)
		e.settle()
		balanced := "Service kube-apiserver: balanced internet-facing"
		if name != "" {
			balanced = "Service kube-apiserver: balanced for " + name + " internet-facing"
		}
		if d := cmp.Diff([]string{"Service konnectivity-server", balanced}, e.exposed()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if missing := e.Ready(hyperv1.InfrastructureReady)(e.T.Context()); missing != "" {
			t.Error(missing)
		}
		hcp = e.HCP()
		if got := hcp.Status.ControlPlaneEndpoint; got != (hyperv1.APIEndpoint{Host: host, Port: 6443}) {
			t.Errorf("the API is at %+v", got)
		}
		if got, err := publishing.Konnectivity(t.Context(), e.Client(), hcp, hyperv1.Public); err != nil || got != (target.Host{Name: host, Port: 8091}) {
			t.Errorf("tunnels are at %+v: %v", got, err)
		}
		svc := &corev1.Service{}
		if err := e.Client().Get(t.Context(), client.ObjectKey{Namespace: hcp.Namespace, Name: "kube-apiserver"}, svc); err != nil {
			t.Fatal(err)
		}
		if len(svc.Spec.Ports) != 2 || !slices.Equal(svc.Spec.LoadBalancerSourceRanges, []string{"192.0.2.0/24"}) {
			t.Errorf("ports %v are open to %v", svc.Spec.Ports, svc.Spec.LoadBalancerSourceRanges)
		}
	}
}

// A node port may be in use or out of range: only the API server of the management cluster can check it.
func TestNodePortInUseIsReported(t *testing.T) {
	hcp := onNone(byNodePort("192.0.2.1", 31000), byNodePort("192.0.2.1", 31001))
	e := newFakeCloudController(t, hcp)
	taken := interceptor.NewClient(e.Client().(client.WithWatch), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), "kube-apiserver", field.ErrorList{
				field.Invalid(field.NewPath("spec", "ports").Index(0).Child("nodePort"), 31000, "provided port is already allocated"),
			})
		},
	})
	if _, err := New(Options{Client: taken, Status: controlplanestatus.New(taken, e.Admin()), Reader: e.Admin(), Scheme: scheme, Clock: e.Clock}).ReconcileObject(t.Context(), e.HCP()); err == nil {
		t.Error("it is not tried again")
	}
	e.ExpectCondition("InfrastructureReady", metav1.ConditionUnknown, "WaitingFor", "Service clusters-demo/kube-apiserver", "31000: provided port is already allocated")
}

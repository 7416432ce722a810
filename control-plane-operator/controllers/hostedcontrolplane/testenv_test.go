package hostedcontrolplane

import (
	"slices"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const namespace = testenv.Namespace

var scheme = testenv.Scheme(routev1.Install)

// fakeCloudController is a management cluster with a cloud controller.
type fakeCloudController struct {
	*testenv.Env
	// slow Services get no load balancer, and this event.
	slow map[string]string
	// balancers are the load balancers in AWS by the name of their Service, with the rounds until their deletion.
	balancers map[string]int
	// servesRoutes is true when the management cluster has its own router.
	servesRoutes bool
	// loadBalancers are the settings of the installation.
	loadBalancers loadbalancers.Settings
	reconciler    *Controller
	// health is the part of the status that the health checks of the API server write.
	health *reconcile.Part[*hyperv1.HostedControlPlane]
}

// newFakeCloudController uses the schemas of CRDs on request: only scenarios in which other controllers write the same status need them.
func newFakeCloudController(t testing.TB, hcp *hyperv1.HostedControlPlane, options ...testenv.Option) *fakeCloudController {
	e := &fakeCloudController{slow: map[string]string{}, balancers: map[string]int{}, Env: testenv.New(t, append(options,
		testenv.WithScheme(scheme),
		testenv.For(hcp, &hyperv1.HostedControlPlaneList{}),
		testenv.WithKinds(&corev1.ServiceList{}, &routev1.RouteList{}, &hyperv1.AWSEndpointServiceList{}),
		testenv.WithStatus(&corev1.Service{}, &routev1.Route{}, &hyperv1.AWSEndpointService{}),
		testenv.WithEventIndex(),
	)...)}
	e.Start, e.Others, e.Tick = e.start, e.cloudController, 0
	return e
}

// controlPlane returns a control plane with the access mode that publishes its API by a load balancer or a Route.
func controlPlane(mode hyperv1.AWSEndpointAccessType, api hyperv1.PublishingStrategyType) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{
		ObjectMeta: testenv.HostedControlPlane().ObjectMeta,
		Spec: hyperv1.HostedControlPlaneSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
			Region: "us-east-1", EndpointAccess: mode,
		}}},
	}
	for service, host := range map[hyperv1.ServiceType]string{
		hyperv1.OAuthServer: "oauth.demo.example.com", hyperv1.Konnectivity: "konnectivity.demo.example.com", hyperv1.Ignition: "ignition.demo.example.com",
	} {
		hcp.Spec.Services = append(hcp.Spec.Services, testenv.Published(service, host))
	}
	strategy := hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
	if api == hyperv1.Route {
		strategy = testenv.Published(hyperv1.APIServer, "api.demo.example.com").ServicePublishingStrategy
	}
	hcp.Spec.Services = append(hcp.Spec.Services, hyperv1.ServicePublishingStrategyMapping{Service: hyperv1.APIServer, ServicePublishingStrategy: strategy})
	slices.SortFunc(hcp.Spec.Services, func(a, b hyperv1.ServicePublishingStrategyMapping) int {
		return slices.Compare([]byte(a.Service), []byte(b.Service))
	})
	return hcp
}

func byRoute(host string) hyperv1.ServicePublishingStrategy {
	return hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: host}}
}

// start restarts the controller and returns a function that reconciles all control planes.
func (e *fakeCloudController) start() testenv.Pass {
	status := controlplanestatus.New(e.Client(), e.Client())
	e.health = status.Part(healthPart)
	e.reconciler = New(Options{Client: e.Client(), Status: status, Reader: e.Admin(), Scheme: scheme, Clock: e.Clock, ServesRoutes: e.servesRoutes, LoadBalancers: e.loadBalancers})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, e.reconciler.ReconcileObject)
}

// settle restarts the controller and runs as many passes as any change takes.
func (e *fakeCloudController) settle() {
	e.T.Helper()
	e.Restart()
	e.Run(6)
}

func (e *fakeCloudController) service(name string) *corev1.Service {
	e.T.Helper()
	return testenv.Named(e.Env, name, &corev1.Service{})
}

// nodesUse records that all nodes use a path, or may use both.
func (e *fakeCloudController) nodesUse(path hyperv1.AWSEndpointAccessType) {
	e.T.Helper()
	hcp := e.HCP()
	hcp.Status.NodeAccess = &hyperv1.NodeAccessRecord{ObservedGeneration: hcp.Generation, InUse: path, Tunnels: path}
	e.Must(e.Admin().Status().Update(e.T.Context(), hcp))
}

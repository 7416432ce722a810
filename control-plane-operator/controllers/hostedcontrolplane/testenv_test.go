package hostedcontrolplane

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const namespace = "clusters-demo"

func init() { ctrl.SetLogger(logr.Discard()) }

// scheme has only the kinds of these tests: the fake API server iterates over all of them for every write.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	utilruntime.Must(routev1.Install(s))
	return s
}()

// testEnv is the environment of these tests: a management cluster with a cloud controller.
type fakeCloudController struct {
	*crashtest.Cluster
	t     testing.TB
	clock *clocktesting.FakeClock
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

// newTestEnv uses the schemas of the type converters: only scenarios in which other controllers write the same status need
// one.
func newFakeCloudController(t testing.TB, hcp *hyperv1.HostedControlPlane, converters ...managedfields.TypeConverter) *fakeCloudController {
	e := &fakeCloudController{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), slow: map[string]string{}, balancers: map[string]int{}}
	e.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme:     scheme,
		Converters: converters,
		Kinds:      []client.ObjectList{&hyperv1.HostedControlPlaneList{}, &corev1.ServiceList{}, &routev1.RouteList{}, &hyperv1.AWSEndpointServiceList{}},
		WithStatus: []client.Object{&hyperv1.HostedControlPlane{}, &corev1.Service{}, &routev1.Route{}, &hyperv1.AWSEndpointService{}},
		Index: func(b *fake.ClientBuilder) {
			b.WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string {
				return []string{string(obj.(*corev1.Event).InvolvedObject.UID)}
			})
		},
	})
	e.Create(t, hcp)
	return e
}

// controlPlane returns a control plane with the access mode that publishes its API by a load balancer or a Route.
func controlPlane(mode hyperv1.AWSEndpointAccessType, api hyperv1.PublishingStrategyType) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}},
		Spec: hyperv1.HostedControlPlaneSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
			Region: "us-east-1", EndpointAccess: mode,
		}}},
	}
	for service, host := range map[hyperv1.ServiceType]string{
		hyperv1.OAuthServer: "oauth.demo.example.com", hyperv1.Konnectivity: "konnectivity.demo.example.com", hyperv1.Ignition: "ignition.demo.example.com",
	} {
		hcp.Spec.Services = append(hcp.Spec.Services, hyperv1.ServicePublishingStrategyMapping{Service: service, ServicePublishingStrategy: byRoute(host)})
	}
	strategy := hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
	if api == hyperv1.Route {
		strategy = byRoute("api.demo.example.com")
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
func (e *fakeCloudController) start() func(context.Context) error {
	status := controlplanestatus.New(e.Client(), e.Client())
	e.health = status.Part(healthPart)
	e.reconciler = New(Options{Client: e.Client(), Status: status, Reader: e.Admin(), Scheme: scheme, Clock: e.clock, ServesRoutes: e.servesRoutes, LoadBalancers: e.loadBalancers})
	return func(ctx context.Context) error {
		list := &hyperv1.HostedControlPlaneList{}
		e.must(e.Admin().List(ctx, list))
		for i := range list.Items {
			if err := e.RecordResult(e.reconciler.ReconcileObject(ctx, &list.Items[i])); err != nil {
				return err
			}
		}
		return nil
	}
}

func (e *fakeCloudController) settle() {
	e.t.Helper()
	if e.reconciler == nil {
		e.start()
	}
	pass := e.start()
	for range 6 {
		e.must(pass(e.t.Context()))
		e.must(e.cloudController(e.t.Context()))
		e.must(e.CollectGarbage(e.t.Context()))
	}
}

func (e *fakeCloudController) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *fakeCloudController) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	e.t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	e.must(e.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp))
	return hcp
}

func (e *fakeCloudController) service(name string) *corev1.Service {
	e.t.Helper()
	svc := &corev1.Service{}
	e.must(e.Admin().Get(e.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, svc))
	return svc
}

func (e *fakeCloudController) change(how func(*hyperv1.HostedControlPlane)) {
	e.t.Helper()
	hcp := e.hcp(e.t.Context())
	how(hcp)
	hcp.Generation++ // the API server does this
	e.must(e.Admin().Update(e.t.Context(), hcp))
}

// nodesUse records that all nodes use a path, or may use both.
func (e *fakeCloudController) nodesUse(path hyperv1.AWSEndpointAccessType) {
	e.t.Helper()
	hcp := e.hcp(e.t.Context())
	hcp.Status.NodeAccess = &hyperv1.NodeAccessRecord{ObservedGeneration: hcp.Generation, InUse: path, Tunnels: path}
	e.must(e.Admin().Status().Update(e.t.Context(), hcp))
}

func (e *fakeCloudController) condition(ctx context.Context, name string) metav1.Condition {
	e.t.Helper()
	if c := meta.FindStatusCondition(e.hcp(ctx).Status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{Type: name, Message: "is missing"}
}

func (e *fakeCloudController) ready(ctx context.Context) string {
	if c := e.condition(ctx, hyperv1.InfrastructureReady); c.Status != metav1.ConditionTrue {
		return fmt.Sprintf("%+v", c)
	}
	return ""
}

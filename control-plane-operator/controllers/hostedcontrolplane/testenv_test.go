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
type testEnv struct {
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
func newTestEnv(t testing.TB, hcp *hyperv1.HostedControlPlane, converters ...managedfields.TypeConverter) *testEnv {
	w := &testEnv{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), slow: map[string]string{}, balancers: map[string]int{}}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
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
	w.Create(t, hcp)
	return w
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
func (w *testEnv) start() func(context.Context) error {
	status := controlplanestatus.New(w.Client(), w.Client())
	w.health = status.Part(healthPart)
	w.reconciler = New(Options{Client: w.Client(), Status: status, Reader: w.Admin(), Scheme: scheme, Clock: w.clock, ServesRoutes: w.servesRoutes, LoadBalancers: w.loadBalancers})
	return func(ctx context.Context) error {
		list := &hyperv1.HostedControlPlaneList{}
		w.must(w.Admin().List(ctx, list))
		for i := range list.Items {
			if err := w.RecordResult(w.reconciler.ReconcileObject(ctx, &list.Items[i])); err != nil {
				return err
			}
		}
		return nil
	}
}

func (w *testEnv) settle() {
	w.t.Helper()
	if w.reconciler == nil {
		w.start()
	}
	pass := w.start()
	for range 6 {
		w.must(pass(w.t.Context()))
		w.must(w.cloudController(w.t.Context()))
		w.must(w.CollectGarbage(w.t.Context()))
	}
}

func (w *testEnv) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *testEnv) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	w.t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	w.must(w.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp))
	return hcp
}

func (w *testEnv) service(name string) *corev1.Service {
	w.t.Helper()
	svc := &corev1.Service{}
	w.must(w.Admin().Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, svc))
	return svc
}

func (w *testEnv) change(how func(*hyperv1.HostedControlPlane)) {
	w.t.Helper()
	hcp := w.hcp(w.t.Context())
	how(hcp)
	hcp.Generation++ // the API server does this
	w.must(w.Admin().Update(w.t.Context(), hcp))
}

// nodesUse records that all nodes use a path, or may use both.
func (w *testEnv) nodesUse(path hyperv1.AWSEndpointAccessType) {
	w.t.Helper()
	hcp := w.hcp(w.t.Context())
	hcp.Status.NodeAccess = &hyperv1.NodeAccessRecord{ObservedGeneration: hcp.Generation, InUse: path, Tunnels: path}
	w.must(w.Admin().Status().Update(w.t.Context(), hcp))
}

func (w *testEnv) condition(ctx context.Context, name string) metav1.Condition {
	w.t.Helper()
	if c := meta.FindStatusCondition(w.hcp(ctx).Status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{Type: name, Message: "is missing"}
}

func (w *testEnv) ready(ctx context.Context) string {
	if c := w.condition(ctx, hyperv1.InfrastructureReady); c.Status != metav1.ConditionTrue {
		return fmt.Sprintf("%+v", c)
	}
	return ""
}

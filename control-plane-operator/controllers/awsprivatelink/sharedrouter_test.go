package awsprivatelink

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// share makes the load balancer of the shared router, and its endpoint service, and lets the cluster move to it.
func (e *customerNetwork) share() {
	e.T.Helper()
	arn, host := e.mine.AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "shared", Zones: []string{"us-east-1a", "us-east-1b"}, State: "active"})
	e.services[sharedrouter.EndpointService] = e.offer(arn)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations = map[string]string{hyperv1.SharedRouterPublicHostAnnotation: "public.example.com", hyperv1.SharedRouterPrivateHostAnnotation: host}
	})
}

// unshare lets the cluster move back. Its own router runs.
func (e *customerNetwork) unshare() {
	e.T.Helper()
	router := &appsv1.Deployment{ObjectMeta: testenv.In(namespace, names.Router)}
	if !e.Exists(router) {
		router.Status.AvailableReplicas = 1
		e.Create(router)
	}
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Annotations = nil })
}

// objects returns the names of the AWSEndpointServices, separated by spaces.
func (e *customerNetwork) objects() string {
	var all []string
	for _, es := range e.list(e.T.Context()) {
		all = append(all, es.Name)
	}
	return strings.Join(all, " ")
}

// leadsTo returns the AWSEndpointService to whose endpoint all records lead, "" if one is missing.
func (e *customerNetwork) leadsTo() string {
	lines := e.AWSLines("CNAME")
	if len(lines) != 2 { // api and *.apps
		return fmt.Sprintf("%d records", len(lines))
	}
	for _, name := range offered {
		if role := name + roleSuffix; strings.Contains(lines[0], role) && strings.Contains(lines[1], role) {
			return name
		}
	}
	return "nowhere: " + strings.Join(lines, "\n")
}

// While a cluster moves to the shared router and back, its names lead to an endpoint that is available at any time, and the former endpoint
// stays as long as clients may have its addresses.
func TestAClusterMovesToTheSharedRouterAndBack(t *testing.T) {
	for _, mode := range []hyperv1.AWSEndpointAccessType{hyperv1.Private, hyperv1.PublicAndPrivate} {
		t.Run(string(mode), func(t *testing.T) {
			e := newCustomerNetwork(t)
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = mode })
			e.start()
			e.runPasses(enough)
			e.isReady()
			for _, move := range []struct {
				begin    func()
				from, to string
			}{{e.share, names.PrivateRouter, sharedrouter.EndpointService}, {e.unshare, sharedrouter.EndpointService, names.PrivateRouter}} {
				move.begin()
				var moved time.Time
				for range 60 {
					e.runPasses(1)
					at := e.leadsTo()
					if at != move.from && at != move.to {
						t.Fatalf("from %s to %s: the records lead to %s", move.from, move.to, at)
					}
					if at == move.to && moved.IsZero() {
						moved = e.Clock.Now()
					}
					if e.objects() == move.to {
						break
					}
					privateNames := &corev1.ServiceList{}
					e.Must(e.Admin().List(t.Context(), privateNames, client.HasLabels{externalPrivateLabel}))
					if got := len(privateNames.Items); got != map[bool]int{true: 1}[mode == hyperv1.Private] {
						t.Errorf("from %s to %s: %d private names", move.from, move.to, got)
					}
				}
				if got := e.objects(); got != move.to {
					t.Fatalf("there are %q, want %q", got, move.to)
				}
				if stayed := e.Clock.Since(moved); stayed < 10*time.Minute {
					t.Errorf("the former endpoint %s stayed for %s", move.from, stayed)
				}
				e.runPasses(enough)
				if endpoints := e.AWSLines("us-east-1 endpoint( Name"); len(endpoints) != 1 {
					t.Errorf("there are these endpoints:\n%s", strings.Join(endpoints, "\n"))
				}
				if groups := e.AWSLines("group(", "-vpce-", "of vpc"); len(groups) != 1 {
					t.Errorf("there are these security groups:\n%s", strings.Join(groups, "\n"))
				}
			}
		})
	}
}

// A cluster that turns back has the former endpoint as long as any other one.
func TestAMoveBackWithinTheGracePeriod(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	e.share()
	for e.leadsTo() != sharedrouter.EndpointService {
		e.runPasses(1)
	}
	e.runPasses(12) // four minutes
	e.unshare()
	turned := e.Clock.Now()
	for e.objects() != names.PrivateRouter {
		e.runPasses(1)
		if e.Clock.Since(turned) > time.Hour {
			t.Fatalf("there are %q", e.objects())
		}
	}
	if stayed := e.Clock.Since(turned); stayed < 10*time.Minute {
		t.Errorf("the endpoint that clients used stayed for %s", stayed)
	}
	if at := e.leadsTo(); at != names.PrivateRouter {
		t.Errorf("the records lead to %s", at)
	}
}

// Users reach the shared router until the cluster has a public load balancer.
func TestAClusterStaysUntilUsersReachItsOwnRouter(t *testing.T) {
	e := newCustomerNetwork(t)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate })
	e.share()
	e.start()
	e.runPasses(60)
	router := &corev1.Service{ObjectMeta: testenv.In(namespace, names.Router), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	e.Create(router)
	e.unshare()
	e.runPasses(60)
	if got := e.objects(); got != names.PrivateRouter+" "+sharedrouter.EndpointService {
		t.Fatalf("without a public load balancer there are %q", got)
	}
	e.Change(router, func() {
		router.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "router.example.com"}}
	})
	e.runPasses(60)
	if got := e.objects(); got != names.PrivateRouter {
		t.Errorf("there are %q", got)
	}
}

// A move that cannot complete leaves the cluster where it is.
func TestAMoveWithoutEndpointServiceLeavesTheFormerOne(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	e.share()
	delete(e.services, sharedrouter.EndpointService)
	e.runPasses(60)
	if got := e.leadsTo(); got != names.PrivateRouter {
		t.Errorf("the records lead to %s", got)
	}
	// The user takes the choice back.
	e.unshare()
	e.runPasses(60)
	if got := e.objects(); got != names.PrivateRouter {
		t.Errorf("there are %q", got)
	}
}

// sharedCluster is served by the shared router from the beginning.
func sharedCluster(t testing.TB) *crashtest.Scenario {
	e := newCustomerNetwork(t)
	e.Must(e.Admin().Delete(t.Context(), &corev1.Service{ObjectMeta: testenv.In(namespace, names.PrivateRouter)}))
	e.services = map[string]string{}
	e.share()
	return e.scenario()
}

// movingCluster moves to the shared router.
func movingCluster(t testing.TB) *crashtest.Scenario {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	e.share()
	delete(e.services, names.PrivateRouter)
	s := e.scenario()
	s.MaxPasses = 150 // the former endpoint stays for ten minutes
	return s
}

func TestCrashConsistencyOfTheSharedRouter(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, sharedCluster) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, sharedCluster) })
	t.Run("moving: crash", func(t *testing.T) { crashtest.CrashConsistency(t, movingCluster) })
}

// A cluster that is deleted while it moves leaves nothing behind.
func TestADeletedClusterThatMovesLeavesNothing(t *testing.T) {
	for passes := range 40 {
		e := newCustomerNetwork(t)
		e.start()
		e.runPasses(enough)
		e.share()
		e.runPasses(passes)
		e.Must(e.delete(t.Context()))
		e.runPasses(enough)
		left := append(e.AWSLines("CNAME"), append(e.AWSLines("us-east-1 endpoint( Name"), e.AWSLines("group(", "-vpce-", "of vpc")...)...)
		if len(left) > 0 || e.objects() != "" {
			t.Fatalf("deleted after %d passes, objects %q and in AWS:\n%s", passes, e.objects(), strings.Join(left, "\n"))
		}
	}
}

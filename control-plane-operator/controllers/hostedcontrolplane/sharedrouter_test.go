package hostedcontrolplane

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	routev1 "github.com/openshift/api/route/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

const sharedPublic, sharedPrivate = "shared-0123456789abcdef.elb.us-east-1.amazonaws.com", "private-0123456789abcdef.elb.us-east-1.amazonaws.com"

func share(hcp *hyperv1.HostedControlPlane) {
	hcp.Annotations = map[string]string{hyperv1.SharedRouterPublicHostAnnotation: sharedPublic, hyperv1.SharedRouterPrivateHostAnnotation: sharedPrivate}
}

// admitted returns the load balancer of each Route.
func (e *fakeCloudController) admitted() map[string]string {
	list := &routev1.RouteList{}
	e.Must(e.Admin().List(e.T.Context(), list))
	hosts := map[string]string{}
	for _, r := range list.Items {
		for _, in := range r.Status.Ingress {
			hosts[r.Name] = in.RouterCanonicalHostname
		}
	}
	return hosts
}

// withoutRouters are the objects of an access mode without load balancers of routers.
func withoutRouters(mode hyperv1.AWSEndpointAccessType) []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(modes[mode][hyperv1.Route]), func(line string) bool {
		return strings.Contains(line, "router: balanced")
	})))
}

// A control plane with the shared router has no load balancer of its own, and the same Routes.
func TestTheSharedRouterTakesThePlaceOfBothRouters(t *testing.T) {
	for mode, want := range map[hyperv1.AWSEndpointAccessType]map[string]string{
		hyperv1.PublicAndPrivate: {"kube-apiserver": sharedPublic, "kube-apiserver-internal": sharedPrivate, "konnectivity-server": sharedPrivate},
		hyperv1.Private:          {"kube-apiserver-private": sharedPrivate, "kube-apiserver-internal": sharedPrivate, "konnectivity-server": sharedPrivate},
	} {
		t.Run(string(mode), func(t *testing.T) {
			hcp := controlPlane(mode, hyperv1.Route)
			share(hcp)
			e := newFakeCloudController(t, hcp)
			e.settle()
			if d := cmp.Diff(withoutRouters(mode), e.exposed()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(want, e.admitted()); d != "" {
				t.Errorf("load balancers of Routes (-want +got):\n%s", d)
			}
			if missing := e.Ready(hyperv1.InfrastructureReady)(t.Context()); missing != "" {
				t.Error(missing)
			}
		})
	}
}

// A control plane that publishes its API server by a load balancer cannot use the shared router, whatever its annotations say.
func TestALoadBalancerOfTheAPIServerIsNotShared(t *testing.T) {
	hcp := controlPlane(hyperv1.PublicAndPrivate, hyperv1.LoadBalancer)
	share(hcp)
	e := newFakeCloudController(t, hcp)
	e.settle()
	if d := cmp.Diff(slices.Sorted(slices.Values(modes[hyperv1.PublicAndPrivate][hyperv1.LoadBalancer])), e.exposed()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Both load balancers of the own router stay as long as the former endpoint does.
func TestOwnRoutersStayUntilTheMoveIsComplete(t *testing.T) {
	e := newFakeCloudController(t, controlPlane(hyperv1.PublicAndPrivate, hyperv1.Route))
	e.settle()
	own := e.exposed()
	es := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.PrivateRouter}}
	e.Create(es)
	e.ChangeHCP(share)
	e.settle()
	if d := cmp.Diff(own, e.exposed()); d != "" {
		t.Errorf("while it moves (-want +got):\n%s", d)
	}
	if got := e.admitted()["kube-apiserver"]; got != sharedPublic {
		t.Errorf("while it moves, users are led to %s", got)
	}
	e.Must(e.Admin().Delete(t.Context(), es))
	e.settle()
	if d := cmp.Diff(withoutRouters(hyperv1.PublicAndPrivate), e.exposed()); d != "" {
		t.Errorf("after the move (-want +got):\n%s", d)
	}
	// Until its own load balancers exist, the shared router still serves it.
	shared := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sharedrouter.EndpointService}}
	e.Create(shared)
	e.slow[names.PrivateRouter] = "no free address"
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Annotations = nil })
	e.settle()
	e.ExpectConditionOf(e.HCP(), hyperv1.InfrastructureReady, metav1.ConditionTrue, hyperv1.AsExpectedReason, "the shared router serves it until its own is ready: load balancer of Service private-router is not provisioned yet")
	delete(e.slow, names.PrivateRouter)
	e.settle()
	e.Must(e.Admin().Delete(t.Context(), shared))
	if d := cmp.Diff(own, e.exposed()); d != "" {
		t.Errorf("after the move back (-want +got):\n%s", d)
	}
}

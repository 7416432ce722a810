package hostedcluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// chooseSharedRouter is a private cluster with the shared router.
func chooseSharedRouter(hc *hyperv1.HostedCluster) {
	hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "true"}
	hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{
		testenv.Published(hyperv1.APIServer, "api.demo.example.com"),
		{Service: hyperv1.Konnectivity, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}},
	}
}

func TestAClusterChoosesTheSharedRouter(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.namespace = "hypershift"
	hc := privateCluster()
	chooseSharedRouter(hc)
	e.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}, testenv.PullSecret(), hc)
	e.Restart()
	e.Run(1)
	e.ExpectCondition(hyperv1.SupportedHostedCluster, metav1.ConditionFalse, hyperv1.UnsupportedClusterReason, "sharedRouter.enabled of the chart")

	e.sharedRouter = true
	e.Restart()
	e.Run(1)
	e.ExpectCondition(hyperv1.SupportedHostedCluster, metav1.ConditionFalse, hyperv1.UnsupportedClusterReason, "waiting for the load balancer of Service private-shared-router in namespace hypershift")

	for name, host := range map[string]string{sharedrouter.Public: "public.example.com", sharedrouter.Private: "private.example.com"} {
		svc := &corev1.Service{ObjectMeta: testenv.In(e.namespace, name)}
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
		e.Create(svc)
	}
	e.Run(10)
	want := sharedrouter.LoadBalancers{Public: "public.example.com", Private: "private.example.com"}
	if got := sharedrouter.Of(e.HCP()); got != want {
		t.Errorf("the control plane has %+v, want %+v", got, want)
	}

	// A status that is missing for a moment moves no cluster.
	svc := &corev1.Service{ObjectMeta: testenv.In(e.namespace, sharedrouter.Private)}
	e.Change(svc, func() { svc.Status.LoadBalancer.Ingress = nil })
	e.Run(3)
	if got := sharedrouter.Of(e.HCP()); got != want {
		t.Errorf("the control plane has %+v, want %+v", got, want)
	}
	e.ExpectCondition(hyperv1.SupportedHostedCluster, metav1.ConditionTrue, hyperv1.AsExpectedReason)

	e.Change(hc, func() { hc.Annotations[hyperv1.SharedRouterAnnotation] = "false" })
	e.Run(3)
	if sharedrouter.Serves(e.HCP()) {
		t.Error("the control plane is still served by the shared router")
	}
}

// A cluster with nodes on the public path moves when the last of them has followed.
func TestAClusterMovesAfterItsPublicNodes(t *testing.T) {
	hcp := func(spec, served, inUse hyperv1.AWSEndpointAccessType) *hyperv1.HostedControlPlane {
		hcp := testenv.HostedControlPlane()
		hcp.Spec.Platform.AWS.EndpointAccess, hcp.Status.ServedEndpointAccess = spec, served
		hcp.Status.NodeAccess = &hyperv1.NodeAccessRecord{InUse: inUse}
		return hcp
	}
	for name, c := range map[string]struct {
		hcp  *hyperv1.HostedControlPlane
		want bool
	}{
		"private":                  {hcp(hyperv1.Private, hyperv1.Private, hyperv1.Private), false},
		"both":                     {hcp(hyperv1.PublicAndPrivate, hyperv1.PublicAndPrivate, hyperv1.Private), false},
		"both, some were public":   {hcp(hyperv1.PublicAndPrivate, hyperv1.PublicAndPrivate, hyperv1.PublicAndPrivate), true},
		"becomes private":          {hcp(hyperv1.Private, hyperv1.PublicAndPrivate, hyperv1.PublicAndPrivate), true},
		"public":                   {hcp(hyperv1.Public, hyperv1.Public, hyperv1.Public), true},
		"the spec was changed now": {hcp(hyperv1.PublicAndPrivate, hyperv1.Public, hyperv1.Public), true},
	} {
		if got := hasPublicNodes(c.hcp); got != c.want {
			t.Errorf("%s: has public nodes: %v, want %v", name, got, c.want)
		}
	}
}

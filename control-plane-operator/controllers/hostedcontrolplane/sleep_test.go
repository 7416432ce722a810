package hostedcontrolplane

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// balancers names the Services of type LoadBalancer.
func (e *fakeCloudController) balancerNames() (names []string) {
	for _, svc := range testenv.Listed(e.Env, &corev1.ServiceList{}).Items {
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			names = append(names, svc.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestASleepingControlPlaneMayHaveNoLoadBalancers(t *testing.T) {
	for name, tc := range map[string]struct {
		mode   hyperv1.AWSEndpointAccessType
		api    hyperv1.PublishingStrategyType
		host   string
		choice string
		kept   bool
	}{
		"private, by load balancers":              {hyperv1.Private, hyperv1.LoadBalancer, "", hyperv1.SleepDelete, false},
		"private, by the router":                  {hyperv1.Private, hyperv1.Route, "", hyperv1.SleepDelete, false},
		"public, by the router":                   {hyperv1.Public, hyperv1.Route, "", hyperv1.SleepDelete, false},
		"public, with a host name":                {hyperv1.Public, hyperv1.LoadBalancer, "api.demo.example.com", hyperv1.SleepDelete, false},
		"both, with a host name":                  {hyperv1.PublicAndPrivate, hyperv1.LoadBalancer, "api.demo.example.com", hyperv1.SleepDelete, false},
		"public, with the load balancer's name":   {hyperv1.Public, hyperv1.LoadBalancer, "", hyperv1.SleepDelete, true},
		"the user keeps them":                     {hyperv1.Private, hyperv1.Route, "", hyperv1.SleepKeep, true},
		"without a choice, they are kept as well": {hyperv1.Private, hyperv1.Route, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := controlPlane(tc.mode, tc.api)
			if tc.host != "" {
				for i := range hcp.Spec.Services {
					if s := &hcp.Spec.Services[i]; s.Service == hyperv1.APIServer {
						s.ServicePublishingStrategy.LoadBalancer = &hyperv1.LoadBalancerPublishingStrategy{Hostname: tc.host}
					}
				}
			}
			if tc.choice != "" {
				metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepLoadBalancersAnnotation, tc.choice)
			}
			e := newFakeCloudController(t, hcp)
			e.settle()
			before, endpoint := e.balancerNames(), e.HCP().Status.ControlPlaneEndpoint
			if len(before) == 0 || endpoint.Host == "" {
				t.Fatalf("load balancers %v, endpoint %v", before, endpoint)
			}
			var want []string
			if tc.kept {
				want = before
			}
			for _, phase := range []hyperv1.SleepPhase{hyperv1.SleepPhaseAsleep, hyperv1.SleepPhaseWaking} {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
					metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(phase))
				})
				e.settle()
				if got := e.balancerNames(); !slices.Equal(got, want) {
					t.Errorf("%s: load balancers %v, want %v", phase, got, want)
				}
				if got := e.HCP().Status.ControlPlaneEndpoint; got != endpoint {
					t.Errorf("%s: the endpoint is %v, and was %v", phase, got, endpoint)
				}
				e.ExpectCondition(hyperv1.InfrastructureReady, metav1.ConditionTrue, hyperv1.AsExpectedReason)
				for _, service := range []string{names.KubeAPIServer, names.KonnectivityServer} {
					e.service(service) // components use it
				}
				want = before
			}
		})
	}
}

// AWS does not delete a load balancer that PrivateLink offers.
func TestAnOfferedLoadBalancerStaysUntilItsEndpointIsDeleted(t *testing.T) {
	hcp := controlPlane(hyperv1.Private, hyperv1.Route)
	metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepLoadBalancersAnnotation, hyperv1.SleepDelete)
	e := newFakeCloudController(t, hcp)
	e.settle()
	offered := &hyperv1.AWSEndpointService{ObjectMeta: testenv.In(hcp.Namespace, names.PrivateRouter)}
	e.Create(offered)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, hyperv1.SleepPhaseAnnotation, string(hyperv1.SleepPhaseAsleep))
	})
	e.settle()
	if got := e.balancerNames(); !slices.Equal(got, []string{names.PrivateRouter}) {
		t.Errorf("load balancers %v", got)
	}
	e.Delete(offered)
	e.settle()
	if got := e.balancerNames(); len(got) > 0 {
		t.Errorf("load balancers %v", got)
	}
}

package hostedcluster

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// Routes without a host name have one in the domain of the cluster. The control-plane-operator may request it, and konnectivity
// keeps it while nodes may use it.
func TestTheBaseDomainCompletesHostNames(t *testing.T) {
	const host = "konnectivity.demo.example.com"
	e := newEmptyManagementCluster(t)
	hc := privateCluster()
	behindRouter(hc)
	e.Create(testenv.PullSecret(), hc)
	e.Restart()
	require := func() {
		t.Helper()
		hcp, ns := &hyperv1.HostedControlPlane{}, &corev1.Namespace{}
		if !e.Has(hcp, "demo") {
			t.Fatal("there is no control plane")
		}
		e.Must(e.Admin().Get(t.Context(), client.ObjectKey{Name: plane}, ns))
		got := hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.Konnectivity).Hostname()
		if got != host || !strings.Contains(ns.Annotations[hyperv1.PublishedNamesAnnotation], host) {
			t.Errorf("konnectivity has the host name %q, and the namespace publishes %q", got, ns.Annotations[hyperv1.PublishedNamesAnnotation])
		}
		if other := hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.OAuthServer).Hostname(); other != "" {
			t.Errorf("the OAuth server has the host name %q", other)
		}
	}
	e.Run(4)
	require()
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
	e.Run(2)
	require()

	hc = privateCluster()
	if !e.Exists(hc) || hyperv1.PublishingOf(hc.Spec.Services, hyperv1.Konnectivity).Hostname() != "" {
		t.Error("the spec of the user has the default")
	}
}

// behindRouter makes the cluster a public one, with names for its router in a domain.
func behindRouter(hc *hyperv1.HostedCluster) {
	hc.Spec.DNS.BaseDomain, hc.Spec.Platform.AWS.EndpointAccess = "example.com", hyperv1.Public
	api := slices.IndexFunc(hc.Spec.Services, func(m hyperv1.ServicePublishingStrategyMapping) bool { return m.Service == hyperv1.APIServer })
	hc.Spec.Services[api].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
}

// A second cluster cannot have the same default, because both would write the same records.
func TestDefaultHostNamesBelongToOneCluster(t *testing.T) {
	for _, namespace := range []string{"clusters", "others"} {
		hc := privateCluster()
		hc.Namespace = namespace
		behindRouter(hc)
		if got := indexes(false)[hostnameIndex](hc); !slices.Contains(got, "konnectivity.demo.example.com") {
			t.Errorf("a cluster in namespace %s is found by %v", namespace, got)
		}
		hc.Spec.Services[0].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
		if got := indexes(true)[hostnameIndex](hc); len(got) != 0 {
			t.Errorf("with a router of the management cluster it is found by %v", got)
		}
	}
}

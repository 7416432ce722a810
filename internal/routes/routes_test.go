package routes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func route(host string) hyperv1.ServicePublishingStrategy {
	how := hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
	if host != "" {
		how.Route = &hyperv1.RoutePublishingStrategy{Hostname: host}
	}
	return how
}

func TestWithHosts(t *testing.T) {
	t.Parallel()
	balanced := hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
	for name, c := range map[string]struct {
		access hyperv1.AWSEndpointAccessType
		dns    hyperv1.DNSSpec
		served bool
		api    hyperv1.ServicePublishingStrategy
		tunnel hyperv1.ServicePublishingStrategy
		// want are the host names of APIServer and Konnectivity.
		want [2]string
	}{
		"the base domain completes what has no host name":          {dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: route(""), tunnel: route(""), want: [2]string{"api.demo.example.com", "konnectivity.demo.example.com"}},
		"the prefix replaces the name of the cluster":              {dns: hyperv1.DNSSpec{BaseDomain: "example.com", BaseDomainPrefix: ptr.To("one")}, api: route(""), tunnel: route(""), want: [2]string{"api.one.example.com", "konnectivity.one.example.com"}},
		"an empty prefix leaves the base domain":                   {dns: hyperv1.DNSSpec{BaseDomain: "example.com", BaseDomainPrefix: ptr.To("")}, api: route(""), tunnel: route(""), want: [2]string{"api.example.com", "konnectivity.example.com"}},
		"without a base domain there is no default":                {dns: hyperv1.DNSSpec{BaseDomainPrefix: ptr.To("one")}, api: route(""), tunnel: route("")},
		"a host name of the user stays":                            {dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: route("k8s.example.org"), tunnel: route("tunnel.example.org"), want: [2]string{"k8s.example.org", "tunnel.example.org"}},
		"a load balancer has the name that AWS assigns":            {dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: balanced, tunnel: route("")},
		"a node port needs a name for konnectivity":                {dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort}, tunnel: route(""), want: [2]string{"", "konnectivity.demo.example.com"}},
		"nodes with PrivateLink do not use a public name":          {access: hyperv1.PublicAndPrivate, dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: route(""), tunnel: route(""), want: [2]string{"api.demo.example.com", ""}},
		"a private cluster has names in its local zone":            {access: hyperv1.Private, dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: route(""), tunnel: route("")},
		"a router of the management cluster assigns host names":    {served: true, dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: balanced, tunnel: route("")},
		"it does not if the control plane needs its own router":    {served: true, dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: route(""), tunnel: route(""), want: [2]string{"api.demo.example.com", "konnectivity.demo.example.com"}},
		"an OAuth server that no Kubernetes release has, has none": {dns: hyperv1.DNSSpec{BaseDomain: "example.com"}, api: balanced, tunnel: balanced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.access == "" {
				c.access = hyperv1.Public
			}
			spec := &hyperv1.HostedClusterSpec{
				DNS:      c.dns,
				Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{EndpointAccess: c.access}},
				Services: []hyperv1.ServicePublishingStrategyMapping{
					{Service: hyperv1.APIServer, ServicePublishingStrategy: c.api},
					{Service: hyperv1.Konnectivity, ServicePublishingStrategy: c.tunnel},
					{Service: hyperv1.OAuthServer, ServicePublishingStrategy: route("")},
				},
			}
			before := spec.DeepCopy()
			got := WithHosts("demo", spec, c.served)
			hosts := [2]string{got[0].ServicePublishingStrategy.Hostname(), got[1].ServicePublishingStrategy.Hostname()}
			if hosts != c.want || got[2].ServicePublishingStrategy.Hostname() != "" {
				t.Errorf("the host names are %v and %q, want %v and none", hosts, got[2].ServicePublishingStrategy.Hostname(), c.want)
			}
			if diff := cmp.Diff(before, spec); diff != "" {
				t.Errorf("the spec was changed: %s", diff)
			}
		})
	}
}

func TestTheFormerHostNameOfKonnectivityStays(t *testing.T) {
	t.Parallel()
	of := func(how hyperv1.ServicePublishingStrategy) []hyperv1.ServicePublishingStrategyMapping {
		return []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: route("")}, {Service: hyperv1.Konnectivity, ServicePublishingStrategy: how}}
	}
	for name, c := range map[string]struct {
		now, former hyperv1.ServicePublishingStrategy
		want        string
	}{
		"if there is none now":          {route(""), route("konnectivity.demo.example.com"), "konnectivity.demo.example.com"},
		"unless there is another":       {route("a.example.com"), route("b.example.com"), "a.example.com"},
		"there was none":                {route(""), route(""), ""},
		"a load balancer does not need": {hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}, route("b.example.com"), ""},
	} {
		services := of(c.now)
		Keep(services, of(c.former))
		if got := hyperv1.PublishingOf(services, hyperv1.Konnectivity).Hostname(); got != c.want || services[0].ServicePublishingStrategy.Hostname() != "" {
			t.Errorf("%s: the host name is %q, want %q", name, got, c.want)
		}
	}
}

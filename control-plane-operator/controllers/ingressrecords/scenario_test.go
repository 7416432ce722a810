package ingressrecords

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const ours = "*.apps.demo.example.com CNAME " + balancer

func TestRecordsLeadToTheLoadBalancer(t *testing.T) {
	publish := func(change func(*operatorv1.EndpointPublishingStrategy)) func(*hyperv1.HostedControlPlane) {
		return func(hcp *hyperv1.HostedControlPlane) {
			strategy := &operatorv1.EndpointPublishingStrategy{Type: operatorv1.LoadBalancerServiceStrategyType, LoadBalancer: &operatorv1.LoadBalancerStrategy{}}
			change(strategy)
			hcp.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{IngressOperator: &hyperv1.IngressOperatorSpec{EndpointPublishingStrategy: strategy}}
		}
	}
	for name, c := range map[string]struct {
		change          func(*hyperv1.HostedControlPlane)
		public, private string
		status          metav1.ConditionStatus
		reason          string
		words           []string
	}{
		"a public load balancer":    {public: ours, private: ours, status: "True", reason: hyperv1.AsExpectedReason},
		"a private cluster":         {change: func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private }, private: ours, status: "True", reason: hyperv1.AsExpectedReason},
		"an internal load balancer": {change: publish(func(s *operatorv1.EndpointPublishingStrategy) { s.LoadBalancer.Scope = operatorv1.InternalLoadBalancer }), private: ours, status: "True", reason: hyperv1.AsExpectedReason},
		"the user's own records": {
			change: publish(func(s *operatorv1.EndpointPublishingStrategy) {
				s.LoadBalancer.DNSManagementPolicy = operatorv1.UnmanagedLoadBalancerDNS
			}),
			status: "True", reason: hyperv1.IngressRecordsUnmanagedReason,
		},
		"no load balancer": {
			change: publish(func(s *operatorv1.EndpointPublishingStrategy) {
				s.Type, s.LoadBalancer = operatorv1.NodePortServiceStrategyType, nil
			}),
			status: "True", reason: hyperv1.IngressRecordsUnmanagedReason,
		},
		"another domain": {
			change: func(hcp *hyperv1.HostedControlPlane) {
				hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &configv1.IngressSpec{Domain: "shop.demo.example.com"}}
			},
			public: "*.shop.demo.example.com CNAME " + balancer, private: "*.shop.demo.example.com CNAME " + balancer, status: "True", reason: hyperv1.AsExpectedReason,
		},
		"a domain of another zone": {
			change: func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.DNS.BaseDomain = "example.org" },
			status: "False", reason: hyperv1.IngressZoneMissingReason, words: []string{"is not permitted in zone"},
		},
		"no domain": {
			change: func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.DNS.BaseDomain = "" },
			status: "False", reason: hyperv1.NoIngressDomainReason, words: []string{"set dns.baseDomain"},
		},
		"no role": {
			change: func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.RolesRef.IngressARN = "" },
			status: "False", reason: hyperv1.NoIngressZoneReason, words: []string{"rolesRef.ingressARN", "*.apps.demo.example.com", balancer},
		},
		"no zone": {
			change: func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.DNS.PublicZoneID, hcp.Spec.DNS.PrivateZoneID = "", "" },
			status: "False", reason: hyperv1.NoIngressZoneReason, words: []string{"dns.publicZoneID"},
		},
		"a zone that does not exist": {
			change:  func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.DNS.PublicZoneID = "Z0123456789" },
			private: ours, status: "False", reason: hyperv1.IngressZoneMissingReason, words: []string{"Z0123456789"},
		},
		"no load balancer yet": {
			change: func(hcp *hyperv1.HostedControlPlane) { hcp.Status.Ingress = nil },
			status: "False", reason: hyperv1.WaitingForLoadBalancerReason,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomerZones(t)
			if c.change != nil {
				e.ChangeHCP(c.change)
			}
			e.RunPasses(2)
			e.ExpectCondition(hyperv1.IngressRecordsAvailable, c.status, c.reason, c.words...)
			if public, private := e.leads(e.public), e.leads(e.private); public != c.public || private != c.private {
				t.Errorf("the zones have\n%q and %q, want\n%q and %q", public, private, c.public, c.private)
			}
			e.Delete(e.Object)
			e.RunPasses(2)
			if left := e.leads(e.public) + e.leads(e.private); left != "" || e.Exists(testenv.HostedControlPlane()) {
				t.Errorf("left after deletion: %q", left)
			}
		})
	}
}

// At rest the records are read once in a period, and drift is repaired then.
func TestDrift(t *testing.T) {
	e := newCustomerZones(t)
	e.RunPasses(1)
	e.AWS.ForgetCalls()
	e.RunPasses(1)
	if calls := fakeaws.Count(e.AWS.Calls()); calls["route53:ListResourceRecordSets"] != 2 || calls["route53:ChangeResourceRecordSets"] != 0 {
		t.Errorf("calls in a period: %v", calls)
	}
	_, err := e.route53().ChangeResourceRecordSets(t.Context(), changes(e.public, types.ChangeActionDelete, balancer))
	e.Must(err)
	e.RunPasses(1)
	if got := e.leads(e.public); got != ours {
		t.Errorf("a deleted record is not repaired: %q", got)
	}
}

// A record that leads elsewhere, of whatever type, is neither changed nor deleted.
func TestRecordsOfOthersStay(t *testing.T) {
	for name, kind := range map[types.RRType]string{types.RRTypeCname: "shop.example.org", types.RRTypeA: "192.0.2.7", types.RRTypeTxt: `"mine"`} {
		t.Run(string(name), func(t *testing.T) {
			e := newCustomerZones(t)
			e.put(e.public, "*.apps.demo.example.com", name, kind)
			before := e.leads(e.public)
			e.RunPasses(2)
			e.ExpectCondition(hyperv1.IngressRecordsAvailable, "False", hyperv1.RecordClaimedReason, e.public, "delete the record")
			e.Delete(e.Object)
			e.RunPasses(3)
			if got := e.leads(e.public); got != before || e.Exists(testenv.HostedControlPlane()) {
				t.Errorf("the record was %q and is %q", before, got)
			}
		})
	}
}

// A record of another person in one zone does not keep ours out of the other.
func TestTheProblemOfOneZoneDoesNotConcernTheOther(t *testing.T) {
	e := newCustomerZones(t)
	e.put(e.public, "*.apps.demo.example.com", types.RRTypeCname, "shop.example.org")
	e.RunPasses(2)
	e.ExpectCondition(hyperv1.IngressRecordsAvailable, "False", hyperv1.RecordClaimedReason, e.public)
	if got := e.leads(e.private); got != ours {
		t.Errorf("the private zone has %q", got)
	}
	e.Delete(e.Object)
	e.RunPasses(3)
	if got := e.leads(e.private); got != "" || e.Exists(testenv.HostedControlPlane()) {
		t.Errorf("left after deletion: %q", got)
	}
}

// The records follow the load balancer, the domain and the zones, and nothing is left where they were.
func TestRecordsFollowChanges(t *testing.T) {
	const next = "ingress-2.elb.us-east-1.amazonaws.com"
	for name, c := range map[string]struct {
		change          func(*hyperv1.HostedControlPlane)
		public, private string
	}{
		"another load balancer": {
			change: func(hcp *hyperv1.HostedControlPlane) { hcp.Status.Ingress.LoadBalancer = next },
			public: "*.apps.demo.example.com CNAME " + next, private: "*.apps.demo.example.com CNAME " + next,
		},
		"a load balancer that is being replaced": {
			change: func(hcp *hyperv1.HostedControlPlane) { hcp.Status.Ingress = nil },
			public: ours, private: ours,
		},
		"another domain": {
			change: func(hcp *hyperv1.HostedControlPlane) {
				hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &configv1.IngressSpec{Domain: "shop.demo.example.com"}}
			},
			public: "*.shop.demo.example.com CNAME " + balancer, private: "*.shop.demo.example.com CNAME " + balancer,
		},
		"a cluster that becomes private": {
			change:  func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private },
			private: ours,
		},
		"a cluster without ingress": {change: func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomerZones(t)
			e.RunPasses(1)
			e.ChangeHCP(c.change)
			e.RunPasses(2)
			if public, private := e.leads(e.public), e.leads(e.private); public != c.public || private != c.private {
				t.Errorf("the zones have\n%q and %q, want\n%q and %q", public, private, c.public, c.private)
			}
			record := e.HCP().Status.IngressRecords
			if record != nil && (len(record.Names) != 1 || len(record.Targets) != 1) && name != "a load balancer that is being replaced" {
				t.Errorf("former places are recorded: %+v", record)
			}
			e.Delete(e.Object)
			e.RunPasses(2)
			if left := e.leads(e.public) + e.leads(e.private); left != "" || e.Exists(testenv.HostedControlPlane()) {
				t.Errorf("left after deletion: %q", left)
			}
		})
	}
}

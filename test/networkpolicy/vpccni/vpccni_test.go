package vpccni

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/test/networkpolicy"
)

const policy = `
- metadata: {namespace: a, name: web}
  spec:
    podSelector: {matchLabels: {app: web}}
    policyTypes: [Ingress]
    ingress:
    - ports: [{port: https, protocol: TCP}]
    - from: [{podSelector: {}}]
      ports: [{port: metrics, protocol: TCP}]
- metadata: {namespace: a, name: out}
  spec:
    podSelector: {}
    policyTypes: [Egress]
    egress:
    - to: [{ipBlock: {cidr: 0.0.0.0/0}}]
      ports: [{port: 53, protocol: UDP}]
    - to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 192.0.2.1/32]}}]
    - to: [{namespaceSelector: {matchLabels: {role: dns}}, podSelector: {matchLabels: {app: dns}}}]
      ports: [{port: 53, protocol: UDP}]
    - to: [{ipBlock: {cidr: 10.1.0.0/16}}]
      ports: [{port: 443, protocol: TCP}]
- metadata: {namespace: a, name: label}
  spec:
    podSelector: {matchLabels: {api: "true"}}
    policyTypes: [Egress]
    egress:
    - to: [{ipBlock: {cidr: 192.0.2.1/32}}]
      ports: [{port: 443, protocol: TCP}]
`

func TestConnectionsAreDecidedAsOnEKS(t *testing.T) {
	var policies []networkingv1.NetworkPolicy
	if err := yaml.UnmarshalStrict([]byte(policy), &policies); err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddr
	web := networkpolicy.Party{Namespace: "a", Labels: map[string]string{"app": "web"}, Ports: map[string]int32{"https": 8443, "metrics": 9000}, Address: addr("10.2.0.1")}
	canary := networkpolicy.Party{Namespace: "a", Labels: map[string]string{"app": "web", "api": "true"}, Ports: map[string]int32{"https": 9443}, Address: addr("10.2.0.2")}
	dns := networkpolicy.Party{Namespace: "d", Labels: map[string]string{"app": "dns"}, Address: addr("10.2.0.53")}
	c := Cluster{
		Namespaces: map[string]map[string]string{"a": nil, "d": {"role": "dns"}},
		Pods:       []networkpolicy.Party{web, canary, dns},
		Services: []corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "dns"},
			Spec:       corev1.ServiceSpec{ClusterIP: "10.3.0.53", Selector: dns.Labels, Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)}}},
		}},
	}
	for name, tc := range map[string]struct {
		egress bool
		pod    networkpolicy.Party
		other  string
		port   networkpolicy.Port
		want   bool
	}{
		"a named port is open to all addresses":                              {false, web, "203.0.113.7", networkpolicy.TCP(8443), true},
		"so is the number that the port has in another selected pod":         {false, web, "203.0.113.7", networkpolicy.TCP(9443), true},
		"another number is not":                                              {false, web, "203.0.113.7", networkpolicy.TCP(9000), false},
		"a pod of the namespace comes to a named port that it does not have": {false, web, "10.2.0.2", networkpolicy.TCP(9000), true},
		"a pod goes to the world":                                            {true, web, "203.0.113.7", networkpolicy.TCP(1), true},
		"an exception of one rule also closes what another rule opens":       {true, web, "10.9.0.9", networkpolicy.UDP(53), false},
		"a longer prefix undoes an exception":                                {true, web, "10.1.0.1", networkpolicy.TCP(443), true},
		"for its own ports only":                                             {true, web, "10.1.0.1", networkpolicy.TCP(80), false},
		"a selected pod in an excepted network":                              {true, web, "10.2.0.53", networkpolicy.UDP(53), true},
		"the ClusterIP of its Service":                                       {true, web, "10.3.0.53", networkpolicy.UDP(53), true},
		"another port of it":                                                 {true, web, "10.3.0.53", networkpolicy.TCP(80), false},
		"an excepted address":                                                {true, web, "192.0.2.1", networkpolicy.TCP(443), false},
		"an address that one policy excepts and another one opens":           {true, canary, "192.0.2.1", networkpolicy.TCP(443), true},
		"a pod that no policy selects goes everywhere":                       {true, dns, "192.0.2.1", networkpolicy.TCP(443), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.Ingress(policies, addr(tc.other), tc.pod, tc.port)
			if tc.egress {
				got = c.Egress(policies, tc.pod, addr(tc.other), tc.port)
			}
			if got != tc.want {
				t.Errorf("allowed: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestServicePortThatLeadsToAnotherNumberIsNotOpened(t *testing.T) {
	pod := networkpolicy.Party{Namespace: "d", Labels: map[string]string{"app": "dns"}, Ports: map[string]int32{"dns": 5353}, Address: netip.MustParseAddr("10.2.0.53")}
	c := Cluster{
		Namespaces: map[string]map[string]string{"d": nil}, Pods: []networkpolicy.Party{pod},
		Services: []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "d"}, Spec: corev1.ServiceSpec{
			ClusterIP: "10.3.0.53", Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromString("dns")}},
		}}},
	}
	for rule, want := range map[string]int{"{port: 53, protocol: UDP}": 1, "{port: 53, protocol: UDP}, {port: 5353, protocol: UDP}": 2} {
		var p networkingv1.NetworkPolicy
		text := fmt.Sprintf("{metadata: {namespace: a}, spec: {egress: [{to: [{namespaceSelector: {}}], ports: [%s]}]}}", rule)
		if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if got := len(c.Resolve(p).Egress); got != want {
			t.Errorf("%s: %d entries, want %d: %v", rule, got, want, c.Resolve(p).Egress)
		}
	}
}

func TestPolicyEndpointsHave200Entries(t *testing.T) {
	for entries, want := range map[int]int{0: 1, 1: 1, 200: 1, 201: 2, 1000: 5} {
		if got := (Endpoints{Egress: make([]Entry, entries), Selected: 3}).Objects(); got != want {
			t.Errorf("%d entries are %d objects, want %d", entries, got, want)
		}
	}
}

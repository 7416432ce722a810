package networkpolicy

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const policy = `
- metadata: {namespace: a, name: web}
  spec:
    podSelector: {matchLabels: {app: web}}
    policyTypes: [Ingress, Egress]
    ingress:
    - from: [{podSelector: {}}]
    - from: [{namespaceSelector: {matchLabels: {role: monitoring}}, podSelector: {matchLabels: {app: prometheus}}}]
      ports: [{port: metrics}]
    - from: [{ipBlock: {cidr: 192.0.2.0/24, except: [192.0.2.128/25]}}]
      ports: [{port: 443, endPort: 445}]
    egress:
    - to: [{namespaceSelector: {}}]
      ports: [{port: 53, protocol: UDP}]
- metadata: {namespace: a, name: more}
  spec:
    podSelector: {matchLabels: {app: web}}
    policyTypes: [Egress]
    egress:
    - to: [{ipBlock: {cidr: 203.0.113.7/32}}]
`

func TestPoliciesAreEvaluatedAsKubernetesDefinesThem(t *testing.T) {
	var policies []networkingv1.NetworkPolicy
	if err := yaml.UnmarshalStrict([]byte(policy), &policies); err != nil {
		t.Fatal(err)
	}
	web := Party{Namespace: "a", Labels: map[string]string{"app": "web"}, Ports: map[string]int32{"metrics": 8080}}
	neighbour := Party{Namespace: "a"}
	stranger := Party{Namespace: "b", NamespaceLabels: map[string]string{"role": "tenant"}, Labels: map[string]string{"app": "prometheus"}}
	prometheus := Party{Namespace: "m", NamespaceLabels: map[string]string{"role": "monitoring"}, Labels: map[string]string{"app": "prometheus"}}
	address := func(a string) Party { return Party{Address: netip.MustParseAddr(a)} }
	for name, tc := range map[string]struct {
		direction networkingv1.PolicyType
		pod, peer Party
		port      Port
		want      bool
	}{
		"a pod of the namespace comes in on every port":               {networkingv1.PolicyTypeIngress, web, neighbour, TCP(1), true},
		"a pod of another namespace does not":                         {networkingv1.PolicyTypeIngress, web, stranger, TCP(8080), false},
		"the right pod of the right namespace comes to a named port":  {networkingv1.PolicyTypeIngress, web, prometheus, TCP(8080), true},
		"and to no other port":                                        {networkingv1.PolicyTypeIngress, web, prometheus, TCP(443), false},
		"nor by another protocol":                                     {networkingv1.PolicyTypeIngress, web, prometheus, UDP(8080), false},
		"another pod of the right namespace does not":                 {networkingv1.PolicyTypeIngress, web, Party{Namespace: "m", NamespaceLabels: prometheus.NamespaceLabels}, TCP(8080), false},
		"an address of a block comes to a range of ports":             {networkingv1.PolicyTypeIngress, web, address("192.0.2.1"), TCP(444), true},
		"and not behind the range":                                    {networkingv1.PolicyTypeIngress, web, address("192.0.2.1"), TCP(446), false},
		"an excepted address does not":                                {networkingv1.PolicyTypeIngress, web, address("192.0.2.129"), TCP(443), false},
		"a pod goes to every namespace on the port of a rule":         {networkingv1.PolicyTypeEgress, web, stranger, UDP(53), true},
		"and on no other":                                             {networkingv1.PolicyTypeEgress, web, stranger, TCP(443), false},
		"an address outside of the cluster is not in a namespace":     {networkingv1.PolicyTypeEgress, web, address("198.51.100.1"), UDP(53), false},
		"what a second policy allows is allowed":                      {networkingv1.PolicyTypeEgress, web, address("203.0.113.7"), TCP(9), true},
		"a pod that no policy selects goes everywhere":                {networkingv1.PolicyTypeEgress, neighbour, address("198.51.100.1"), TCP(9), true},
		"and everybody comes to it":                                   {networkingv1.PolicyTypeIngress, neighbour, stranger, TCP(9), true},
		"a policy selects no pod of another namespace":                {networkingv1.PolicyTypeIngress, Party{Namespace: "b", Labels: web.Labels}, stranger, TCP(9), true},
		"a port name that the pod does not have opens nothing for it": {networkingv1.PolicyTypeIngress, Party{Namespace: "a", Labels: web.Labels}, prometheus, TCP(8080), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Egress(policies, tc.pod, tc.peer, tc.port)
			if tc.direction == networkingv1.PolicyTypeIngress {
				got = Ingress(policies, tc.peer, tc.pod, tc.port)
			}
			if got != tc.want {
				t.Errorf("allowed: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestRuleWithoutPeersAndPortsAllowsEverything(t *testing.T) {
	policies := []networkingv1.NetworkPolicy{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a"},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, Ingress: []networkingv1.NetworkPolicyIngressRule{{}},
		},
	}}
	if !Ingress(policies, Party{Namespace: "b"}, Party{Namespace: "a"}, Port{Protocol: corev1.ProtocolSCTP, Number: 7}) {
		t.Error("the connection is refused")
	}
}

package networkpolicy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// The cluster of the cases: node n1 with pods of two namespaces, another node n2 with a pod, and an address outside of the
// cluster.
var places = map[string][]netip.Addr{ // an address of each family
	"x/a":      addresses("10.0.0.2", "fd00:0::2"),
	"x/b":      addresses("10.0.0.3", "fd00:0::3"),
	"y/a":      addresses("10.0.0.4", "fd00:0::4"),
	"y/c":      addresses("10.0.1.2", "fd00:1::2"),
	"n1":       addresses("192.168.0.1", "fd01::1"),
	"n2":       addresses("192.168.0.2", "fd01::2"),
	"outside":  addresses("192.168.0.9", "fd01::9"),
	"metadata": addresses("169.254.169.254", "fd00:ec2::254"),
}

func addresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func clusterWith(t *testing.T, policies ...string) State {
	t.Helper()
	s := State{Node: "n1"}
	for _, name := range []string{"x", "y"} {
		s.Namespaces = append(s.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "team-" + name}}})
	}
	pod := func(place, node string, ports ...corev1.ContainerPort) *corev1.Pod {
		namespace, name, _ := strings.Cut(place, "/")
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(place), Labels: map[string]string{"app": name}},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Ports: ports}}},
		}
		for _, address := range places[place] {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: address.String()})
		}
		return p
	}
	web := []corev1.ContainerPort{
		{Name: "web", ContainerPort: 80},
		{Name: "dns", ContainerPort: 80, Protocol: corev1.ProtocolUDP},
	}
	// The same name has another number here.
	other := []corev1.ContainerPort{{Name: "web", ContainerPort: 81, Protocol: corev1.ProtocolTCP}}
	host := pod("x/host", "n2", web...)
	host.Spec.HostNetwork = true
	for _, address := range places["n2"] {
		host.Status.PodIPs = append(host.Status.PodIPs, corev1.PodIP{IP: address.String()})
	}
	// The status of a completed pod keeps its address, and another pod may get it.
	ended := pod("x/ended", "n2")
	ended.Status.Phase = corev1.PodSucceeded
	for _, address := range places["outside"] {
		ended.Status.PodIPs = append(ended.Status.PodIPs, corev1.PodIP{IP: address.String()})
	}
	s.Pods = []*corev1.Pod{pod("x/a", "n1", web...), pod("x/b", "n1", web...), pod("y/a", "n1", other...), pod("y/c", "n2", other...), host, ended}
	for i, text := range policies {
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: fmt.Sprintf("policy-%d", i)}}
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		s.Policies = append(s.Policies, p)
	}
	return s
}

// policyCase has policies of namespace x and the expected connections, as FROM > TO PROTOCOL PORT.
type policyCase struct {
	policies        []string
	passes, dropped []string
}

var cases = map[string]policyCase{
	"without a policy everything passes": {
		passes: []string{
			"x/a > x/b tcp 80", "x/a > y/a udp 80", "y/c > x/a tcp 80", "outside > x/a tcp 80", "x/a > outside tcp 80", "n1 > x/a tcp 80",
			"x/a > metadata tcp 80", "x/a > metadata tcp6 80", "x/a > x/b tcp6 80", "y/c > x/a udp6 80", "x/a > n1 tcp 80",
		},
	},
	"a policy without ingress rules isolates for ingress, in its namespace alone": {
		policies: []string{`{podSelector: {}, policyTypes: [Ingress]}`},
		passes:   []string{"x/a > y/a tcp 80", "x/a > outside tcp 80", "n1 > x/a tcp 80", "n1 > x/a tcp6 80", "x/a > x/a tcp 80", "x/a > metadata tcp 80", "y/c > y/a tcp 80"},
		dropped:  []string{"x/b > x/a tcp 80", "x/b > x/a udp 80", "y/c > x/a tcp 80", "outside > x/a tcp 80", "n2 > x/a tcp 80", "x/b > x/a tcp6 80", "y/c > x/a udp6 80"},
	},
	"a policy without egress rules isolates for egress alone": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress]}`},
		passes:   []string{"x/b > x/a tcp 80", "outside > x/a tcp 80", "y/a > x/b tcp 80", "x/a > x/a tcp 80", "n1 > x/a tcp 80"},
		dropped:  []string{"x/a > x/b tcp 80", "x/a > y/c udp 80", "x/a > outside tcp 80", "x/a > n1 tcp 80", "x/a > metadata tcp 80", "x/a > metadata tcp6 80", "x/a > y/a tcp6 80"},
	},
	"without policyTypes a policy is about ingress, and about egress if it has egress rules": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}}`, `{podSelector: {matchLabels: {app: b}}, egress: [{to: [{podSelector: {}}]}]}`},
		passes:   []string{"x/a > outside tcp 80", "x/b > x/b tcp 80"},
		dropped:  []string{"x/b > x/a tcp 80", "x/a > x/b tcp 80", "x/b > outside tcp 80"},
	},
	"a rule without peers is for everybody, on its ports": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{port: 80}]}]}`},
		passes:   []string{"x/b > x/a tcp 80", "outside > x/a tcp 80", "y/c > x/a tcp6 80"},
		dropped:  []string{"x/b > x/a tcp 81", "x/b > x/a udp 80", "outside > x/a tcp6 81"},
	},
	"an empty rule is for everybody on every port": {
		policies: []string{`{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}], egress: [{}]}`},
		passes:   []string{"x/b > x/a tcp 80", "outside > x/a udp 80", "x/a > outside tcp6 81", "x/a > metadata tcp 80"},
	},
	"a podSelector is about the namespace of the policy": {
		policies: []string{`{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}`},
		passes:   []string{"x/a > x/b tcp 80", "x/a > x/b udp6 80"},
		dropped:  []string{"y/a > x/b tcp 80", "y/a > x/b tcp6 80"},
	},
	"a namespaceSelector is about all pods of the namespaces, of other nodes too": {
		policies: []string{`{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {team: team-y}}}]}]}`},
		passes:   []string{"y/a > x/b tcp 80", "y/c > x/b tcp 80", "y/c > x/b udp6 81"},
		dropped:  []string{"x/a > x/b tcp 80", "outside > x/b tcp 80", "n2 > x/b tcp 80"},
	},
	"both selectors of one peer have to match, of two peers one": {
		policies: []string{
			`{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {team: team-y}}, podSelector: {matchLabels: {app: a}}}]}]}`,
			`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {team: team-y}}}, {podSelector: {matchLabels: {app: b}}}]}]}`,
		},
		passes:  []string{"y/a > x/b tcp 80", "y/a > x/a tcp 80", "y/c > x/a tcp 80", "x/b > x/a tcp 80"},
		dropped: []string{"y/c > x/b tcp 80", "x/a > x/b tcp 80", "outside > x/a tcp 80"},
	},
	"policies of one pod add up": {
		policies: []string{
			`{podSelector: {}, policyTypes: [Ingress]}`,
			`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}`,
			`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {team: team-y}}}], ports: [{port: 81}]}]}`,
		},
		passes:  []string{"x/b > x/a tcp 80", "y/a > x/a tcp 81"},
		dropped: []string{"x/b > x/a tcp 81", "y/a > x/a tcp 80", "x/a > x/b tcp 80"},
	},
	"the egress of one end and the ingress of the other have to allow it": {
		policies: []string{
			`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: b}}}]}]}`,
			`{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], ingress: [{ports: [{port: 81}]}]}`,
		},
		passes:  []string{"x/a > x/b tcp 81"},
		dropped: []string{"x/a > x/b tcp 80", "x/a > y/a tcp 81"},
	},
	"an ipBlock is without its exceptions": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [
			{ipBlock: {cidr: 0.0.0.0/0, except: [169.254.169.254/32, 192.168.0.9/32, 10.0.0.0/24]}},
			{ipBlock: {cidr: "::/0", except: ["fd00:ec2::254/128", "fd01::8/125"]}}]}]}`},
		passes:  []string{"x/a > y/c tcp 80", "x/a > n2 tcp 80", "x/a > n1 tcp 80", "x/a > x/b tcp6 80", "x/a > n2 tcp6 80"},
		dropped: []string{"x/a > metadata tcp 80", "x/a > metadata tcp6 80", "x/a > outside tcp 80", "x/a > outside udp6 80", "x/a > x/b tcp 80"},
	},
	"an exception of one ipBlock can be in another": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{from: [
			{ipBlock: {cidr: 192.168.0.0/16, except: [192.168.0.0/28]}}, {ipBlock: {cidr: 192.168.0.9/32}}], ports: [{port: 80}]}]}`},
		passes:  []string{"outside > x/a tcp 80"},
		dropped: []string{"n2 > x/a tcp 80", "outside > x/a tcp 81", "outside > x/a tcp6 80"},
	},
	"pods on the host's network are no peers, and nor are pods that have ended": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchExpressions: [{key: app, operator: In, values: [host, ended]}]}}]}]}`},
		dropped:  []string{"n2 > x/a tcp 80", "outside > x/a tcp 80", "x/b > x/a tcp 80"},
	},
	"endPort makes a range": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{port: 79, endPort: 80}, {protocol: UDP, port: 80, endPort: 90}]}]}`},
		passes:   []string{"x/b > x/a tcp 80", "x/b > x/a udp 81"},
		dropped:  []string{"x/b > x/a tcp 81"},
	},
	"a protocol without a port is all of its ports": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{protocol: UDP}]}]}`},
		passes:   []string{"x/b > x/a udp 80", "x/b > x/a udp6 81"},
		dropped:  []string{"x/b > x/a tcp 80"},
	},
	"a named port of ingress is that of the pod which is selected": {
		policies: []string{`{podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: web}, {protocol: UDP, port: dns}]}]}`},
		passes:   []string{"y/a > x/a tcp 80", "y/a > x/a udp 80", "outside > x/b tcp6 80"},
		dropped:  []string{"y/a > x/a tcp 81", "y/a > x/a udp 81"},
	},
	"a named port of egress is that of the peer, and of no pod beside": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {matchLabels: {team: team-y}}}], ports: [{port: web}]}]}`},
		passes:   []string{"x/a > y/a tcp 81", "x/a > y/c tcp 81", "x/a > y/c tcp6 81"},
		dropped:  []string{"x/a > y/a tcp 80", "x/a > x/b tcp 80", "x/a > outside tcp 81"},
	},
	"a named port that no pod has allows nothing": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{port: metrics}]}]}`},
		dropped:  []string{"x/b > x/a tcp 80", "outside > x/a tcp 80"},
	},
	"a named port of another protocol is another port": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{port: dns}]}]}`},
		dropped:  []string{"x/b > x/a tcp 80", "x/b > x/a udp 80"},
	},
	"SCTP alone allows neither TCP nor UDP": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{protocol: SCTP, port: 80}]}]}`},
		dropped:  []string{"x/b > x/a tcp 80", "x/b > x/a udp 80"},
	},
	"a selector that matches no pod allows nothing": {
		policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: none}}}]}]}`},
		dropped:  []string{"x/b > x/a tcp 80", "y/c > x/a tcp 80"},
	},
}

// connection is a connection of a case.
type connection struct {
	from, to netip.Addr
	protocol corev1.Protocol
	port     uint16
}

func parse(t *testing.T, text string) connection {
	t.Helper()
	f := strings.Fields(text)
	if len(f) != 5 || places[f[0]] == nil || places[f[2]] == nil {
		t.Fatalf("%q is no connection", text)
	}
	protocol, six := strings.CutSuffix(f[3], "6")
	port, err := strconv.ParseUint(f[4], 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	if six {
		i = 1
	}
	return connection{places[f[0]][i], places[f[2]][i], corev1.Protocol(strings.ToUpper(protocol)), uint16(port)}
}

func TestRulesFollowTheAPIDocumentation(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rules := Evaluate(clusterWith(t, c.policies...))
			for _, text := range c.passes {
				if !rules.allow(parse(t, text)) {
					t.Errorf("dropped: %s", text)
				}
			}
			for _, text := range c.dropped {
				if rules.allow(parse(t, text)) {
					t.Errorf("passes: %s", text)
				}
			}
		})
	}
}

// allow evaluates the rules of node n1.
func (r Rules) allow(c connection) bool {
	if c.from == c.to {
		return true
	}
	if policies, isolated := r.Egress[c.from]; isolated && !slices.ContainsFunc(policies, func(p string) bool { return r.some(r.Policies[p].Egress, c.to, c) }) {
		return false
	}
	policies, isolated := r.Ingress[c.to]
	return !isolated || slices.Contains(places["n1"], c.from) || slices.ContainsFunc(policies, func(p string) bool { return r.some(r.Policies[p].Ingress, c.from, c) })
}

func (r Rules) some(rules []Rule, peer netip.Addr, c connection) bool {
	return slices.ContainsFunc(rules, func(rule Rule) bool {
		return rule.Peers.include(peer) && (len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(p Port) bool { return r.matches(p, c) }))
	})
}

func (p *Peers) include(peer netip.Addr) bool {
	return p == nil || slices.Contains(p.Pods, peer) || slices.ContainsFunc(p.Blocks, func(b Block) bool {
		return b.CIDR.Contains(peer) && !slices.ContainsFunc(b.Except, func(e netip.Prefix) bool { return e.Contains(peer) })
	})
}

func (r Rules) matches(p Port, c connection) bool {
	if p.Protocol != c.protocol {
		return false
	}
	if p.Name != "" {
		return slices.Contains(r.NamedPorts[NamedPort{p.Protocol, p.Name}], netip.AddrPortFrom(c.to, c.port))
	}
	return p.First == 0 || p.First <= c.port && c.port <= p.Last
}

func TestPodIsIsolatedBeforeItsStatusHasItsAddress(t *testing.T) {
	s := clusterWith(t, `{podSelector: {}, policyTypes: [Ingress]}`)
	s.Pods[0].Status.PodIPs = nil
	if rules := Evaluate(s); slices.Contains(rules.Pods, places["x/a"][0]) {
		t.Error("the node knows an address that was not reported")
	}
	s.Addresses = map[types.UID][]netip.Addr{"x/a": places["x/a"]}
	rules := Evaluate(s)
	if !slices.Contains(rules.Pods, places["x/a"][0]) {
		t.Error("the address of the CNI plugin is not that of a pod")
	}
	if rules.allow(parse(t, "x/b > x/a tcp 80")) || rules.allow(parse(t, "x/b > x/a tcp6 80")) {
		t.Error("the pod is not isolated")
	}
}

func TestNodeHasOnlyThePoliciesOfItsPods(t *testing.T) {
	s := clusterWith(t, `{podSelector: {matchLabels: {app: host}}, policyTypes: [Ingress]}`, `{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress]}`)
	if got := slices.Sorted(maps.Keys(Evaluate(s).Policies)); !slices.Equal(got, []string{"x/policy-1"}) {
		t.Errorf("got %v", got)
	}
}

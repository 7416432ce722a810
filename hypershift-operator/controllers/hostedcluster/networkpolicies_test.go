package hostedcluster

import (
	"net/netip"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var management = []netip.Addr{netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("fd09::1")}

// policiesFor are those that select a pod with these labels, for one direction.
func policiesFor(t *testing.T, pod map[string]string, direction networkingv1.PolicyType) []networkingv1.NetworkPolicySpec {
	t.Helper()
	var found []networkingv1.NetworkPolicySpec
	for _, obj := range desiredPolicies(&scope{hc: privateCluster(), controlPlane: plane}, management) {
		spec := obj.(*networkingv1.NetworkPolicy).Spec
		selector, err := metav1.LabelSelectorAsSelector(&spec.PodSelector)
		if err != nil {
			t.Fatal(err)
		}
		if selector.Matches(labels.Set(pod)) && slices.Contains(spec.PolicyTypes, direction) {
			found = append(found, spec)
		}
	}
	return found
}

func TestWhereAPodMayGo(t *testing.T) {
	component, operator := map[string]string{"app": "kube-controller-manager"}, map[string]string{"app": "cluster-api", managementAccessLabel: "true"}
	for name, tc := range map[string]struct {
		pod  map[string]string
		to   string
		want bool
	}{
		"a component reaches the world":                        {component, "203.0.113.7", true},
		"a component reaches the world of IPv6":                {component, "2001:db8::7", true},
		"a component does not reach the management API server": {component, "10.9.0.1", false},
		"nor by IPv6": {component, "fd09::1", false},
		"a component does not get the identity of its node":            {component, "169.254.169.254", false},
		"nor by IPv6 from there":                                       {component, "fd00:ec2::254", false},
		"who works with the management cluster reaches its API server": {operator, "10.9.0.1", true},
	} {
		t.Run(name, func(t *testing.T) {
			policies := policiesFor(t, tc.pod, networkingv1.PolicyTypeEgress)
			got := len(policies) == 0 || slices.ContainsFunc(policies, func(p networkingv1.NetworkPolicySpec) bool { return letsOut(t, p, tc.to) })
			if got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// letsOut says whether a policy allows every port of an address outside of the cluster.
func letsOut(t *testing.T, p networkingv1.NetworkPolicySpec, to string) bool {
	t.Helper()
	addr := netip.MustParseAddr(to)
	for _, rule := range p.Egress {
		for _, peer := range rule.To {
			if peer.IPBlock == nil || len(rule.Ports) > 0 || !netip.MustParsePrefix(peer.IPBlock.CIDR).Contains(addr) {
				continue
			}
			if !slices.ContainsFunc(peer.IPBlock.Except, func(e string) bool { return netip.MustParsePrefix(e).Contains(addr) }) {
				return true
			}
		}
	}
	return false
}

func TestWhoMayComeIn(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  map[string]string
		want bool
	}{
		"anybody comes to the API server":     {map[string]string{"app": "kube-apiserver"}, true},
		"anybody comes to the private router": {map[string]string{"app": "private-router"}, true},
		"anybody comes to the public router":  {map[string]string{"app": "router"}, true},
		"nobody from outside comes to etcd":   {map[string]string{"app": "etcd"}, false},
		"nor to what has no name":             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			policies := policiesFor(t, tc.pod, networkingv1.PolicyTypeIngress)
			if len(policies) == 0 {
				t.Fatal("no policy is about it: everybody could come")
			}
			open := slices.ContainsFunc(policies, func(p networkingv1.NetworkPolicySpec) bool {
				return slices.ContainsFunc(p.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool { return len(r.From) == 0 })
			})
			if open != tc.want {
				t.Errorf("got %v", open)
			}
		})
	}
}

func TestWhoMayTalkToEtcd(t *testing.T) {
	for app, want := range map[string][]string{
		"kube-apiserver": {"client"}, "control-plane-operator": {"client"}, "etcd": {"client", "peer"}, "kube-scheduler": nil,
	} {
		t.Run(app, func(t *testing.T) {
			var got []string
			for _, p := range policiesFor(t, map[string]string{"app": "etcd"}, networkingv1.PolicyTypeIngress) {
				for _, rule := range p.Ingress {
					if !slices.ContainsFunc(rule.From, func(from networkingv1.NetworkPolicyPeer) bool { return isPeer(t, from, app) }) {
						continue
					}
					for _, port := range rule.Ports {
						got = append(got, port.Port.StrVal)
					}
					if len(rule.Ports) == 0 {
						got = append(got, "every port")
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("it reaches %v, want %v", got, want)
			}
		})
	}
}

// isPeer says whether pods of the app, in the same namespace, are meant.
func isPeer(t *testing.T, peer networkingv1.NetworkPolicyPeer, app string) bool {
	t.Helper()
	if peer.PodSelector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set{"app": app})
}

func TestAddressesOfTheManagementCluster(t *testing.T) {
	slice := func(addresses ...string) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}}}
	}
	for name, tc := range map[string]struct {
		slices []discoveryv1.EndpointSlice
		want   []string
	}{
		"none":                               {nil, nil},
		"both families, in order":            {[]discoveryv1.EndpointSlice{slice("fd09::1"), slice("10.9.0.2", "10.9.0.1")}, []string{"10.9.0.1", "10.9.0.2", "fd09::1"}},
		"each once":                          {[]discoveryv1.EndpointSlice{slice("10.9.0.1"), slice("10.9.0.1", "::ffff:10.9.0.1")}, []string{"10.9.0.1"}},
		"a name is nothing a policy can say": {[]discoveryv1.EndpointSlice{slice("api.example.test")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range addresses(tc.slices) {
				got = append(got, a.String())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPoliciesFollowTheManagementCluster(t *testing.T) {
	w := newWorld(t)
	pass := w.start()
	w.run(t, pass, 2)
	w.Create(t, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: ManagementAPI.Namespace, Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: ManagementAPI.Name}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.9.0.1"}}},
	})
	w.run(t, pass, 1)
	policy := &networkingv1.NetworkPolicy{}
	if err := w.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: "management-kas"}, policy); err != nil {
		t.Fatal(err)
	}
	if letsOut(t, policy.Spec, "10.9.0.1") {
		t.Error("the new address can be reached")
	}
}

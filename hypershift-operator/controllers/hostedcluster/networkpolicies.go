package hostedcluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// managementAccessLabel is on pods that may talk to the API server of the
// management cluster.
const managementAccessLabel = "hypershift.openshift.io/need-management-kas-access"

func (s *scope) policiesSet() apply.Set {
	return apply.Set{Name: setPolicies, Namespace: s.controlPlane, Kinds: []client.ObjectList{&networkingv1.NetworkPolicyList{}}}
}

// ensurePolicies fences the control plane in: who comes in from outside meets
// what is meant for them, and what a tenant can influence does not reach the
// management cluster.
func (r *Reconciler) ensurePolicies(ctx context.Context, s *scope) error {
	management, err := r.managementAddresses(ctx)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, s.policiesSet(), desiredPolicies(s, management)...)
	return err
}

// ManagementAPI is the Service of the API server of the management cluster.
var ManagementAPI = client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}

// managementAddresses are where the API server of the management cluster is.
func (r *Reconciler) managementAddresses(ctx context.Context) ([]netip.Addr, error) {
	var found discoveryv1.EndpointSliceList
	err := r.Client.List(ctx, &found, client.InNamespace(ManagementAPI.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: ManagementAPI.Name})
	if err != nil {
		return nil, fmt.Errorf("finding the API server of the management cluster: %w", err)
	}
	return addresses(found.Items), nil
}

// addresses are those of the slices, each once and in order, so that a
// NetworkPolicy changes only when they do.
func addresses(endpoints []discoveryv1.EndpointSlice) []netip.Addr {
	var found []netip.Addr
	for _, slice := range endpoints {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses {
				if addr, err := netip.ParseAddr(text); err == nil { // else a name, which no policy can have
					found = append(found, addr.Unmap())
				}
			}
		}
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return slices.Compact(found)
}

func desiredPolicies(s *scope, management []netip.Addr) []client.Object {
	policy := func(name string, spec networkingv1.NetworkPolicySpec) client.Object {
		return &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.controlPlane, Name: name, Annotations: s.ownerAnnotations()},
			Spec:       spec,
		}
	}
	return []client.Object{
		policy("same-namespace", sameNamespace()),
		policy(names.Etcd, etcdOnly()),
		policy("published", openTo(names.KubeAPIServer, names.PrivateRouter, names.Router)),
		policy("management-kas", withoutManagement(management)),
	}
}

var incoming, outgoing = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}

// sameNamespace closes the namespace to everybody who is not in it, but for the
// metrics. etcd is closed to most of those as well.
func sameNamespace() networkingv1.NetworkPolicySpec {
	return networkingv1.NetworkPolicySpec{
		PolicyTypes: incoming,
		PodSelector: apps(metav1.LabelSelectorOpNotIn, names.Etcd),
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}, metrics()},
	}
}

// etcdOnly opens etcd, where the whole of the cluster lies, to whom it is for.
// They show a certificate all the same.
func etcdOnly() networkingv1.NetworkPolicySpec {
	from := func(whom ...string) []networkingv1.NetworkPolicyPeer {
		selector := apps(metav1.LabelSelectorOpIn, whom...)
		return []networkingv1.NetworkPolicyPeer{{PodSelector: &selector}}
	}
	return networkingv1.NetworkPolicySpec{
		PolicyTypes: incoming,
		PodSelector: apps(metav1.LabelSelectorOpIn, names.Etcd),
		Ingress: []networkingv1.NetworkPolicyIngressRule{
			{
				From:  from(names.KubeAPIServer, names.ControlPlaneOperator, names.Etcd),
				Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, intstr.FromString("client"))},
			},
			{From: from(names.Etcd), Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, intstr.FromString("peer"))}},
			metrics(),
		},
	}
}

// metrics are for namespaces that say that they collect them.
func metrics() networkingv1.NetworkPolicyIngressRule {
	collectors := &metav1.LabelSelector{MatchLabels: map[string]string{"network.openshift.io/policy-group": "monitoring"}}
	return networkingv1.NetworkPolicyIngressRule{
		From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: collectors}},
		Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, intstr.FromString(metricsPortName))},
	}
}

// apps are the pods of these, or of all others.
func apps(op metav1.LabelSelectorOperator, names ...string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: op, Values: names}}}
}

// openTo opens what load balancers lead to, to everybody: whoever comes through
// one may have any address. They check who it is themselves.
func openTo(whom ...string) networkingv1.NetworkPolicySpec {
	return networkingv1.NetworkPolicySpec{
		PolicyTypes: incoming,
		PodSelector: apps(metav1.LabelSelectorOpIn, whom...),
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{}},
	}
}

// metadataServices of AWS hand out the identity of the node.
var metadataServices = []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254")}

// withoutManagement lets pods that have no business with the management cluster
// reach their own kind, names and the world, and neither its API server nor the
// identity of the node that they run on.
func withoutManagement(management []netip.Addr) networkingv1.NetworkPolicySpec {
	forbidden := append(slices.Clone(management), metadataServices...)
	return networkingv1.NetworkPolicySpec{
		PolicyTypes: outgoing,
		PodSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: managementAccessLabel, Operator: metav1.LabelSelectorOpDoesNotExist},
		}},
		Egress: []networkingv1.NetworkPolicyEgressRule{
			{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}},
			// Some networks do not count pods as the world. 5353 is where DNS of OpenShift listens.
			{To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}, Ports: []networkingv1.NetworkPolicyPort{
				port(corev1.ProtocolUDP, intstr.FromInt32(53)), port(corev1.ProtocolTCP, intstr.FromInt32(53)),
				port(corev1.ProtocolUDP, intstr.FromInt32(5353)), port(corev1.ProtocolTCP, intstr.FromInt32(5353)),
			}},
			{To: []networkingv1.NetworkPolicyPeer{
				{IPBlock: allBut("0.0.0.0/0", forbidden, netip.Addr.Is4)},
				{IPBlock: allBut("::/0", forbidden, netip.Addr.Is6)},
			}},
		},
	}
}

// allBut is a range of one family without the addresses of that family.
func allBut(cidr string, forbidden []netip.Addr, ofFamily func(netip.Addr) bool) *networkingv1.IPBlock {
	block := &networkingv1.IPBlock{CIDR: cidr}
	for _, addr := range forbidden {
		if ofFamily(addr) {
			block.Except = append(block.Except, netip.PrefixFrom(addr, addr.BitLen()).String())
		}
	}
	return block
}

func port(protocol corev1.Protocol, number intstr.IntOrString) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: ptr.To(protocol), Port: &number}
}

package isolation

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// PoliciesSet is the set of the NetworkPolicies.
const PoliciesSet = "network-policies"

// Policies are the NetworkPolicies of the namespace of a control plane: only published
// ports are reachable from outside, and pods that a tenant can influence reach neither
// the management cluster nor the identity of the node.
func Policies(n controlplane.Namespace, management ManagementCluster) (apply.Set, []client.Object) {
	return n.Set(PoliciesSet, &networkingv1.NetworkPolicyList{}), desiredPolicies(n, management)
}

// ManagementCluster lists the addresses that pods of control planes must not reach.
type ManagementCluster struct {
	// API are the addresses of its API server: its endpoints, its Service, and the public addresses.
	API []netip.AddrPort
	// Blocked are networks that the administrator has listed.
	Blocked []netip.Prefix
}

// ManagementAPI is the Service of the API server of the management cluster.
var ManagementAPI = client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}

// ManagementAPIAddresses returns every known address of the API server of the
// management cluster: its public addresses, and the addresses that the cluster lists. Some network
// plugins apply policies before the address of a Service is translated to an endpoint's address,
// others after that.
func ManagementAPIAddresses(ctx context.Context, reader client.Reader, public []netip.AddrPort) ([]netip.AddrPort, error) {
	var slices discoveryv1.EndpointSliceList
	err := reader.List(ctx, &slices, client.InNamespace(ManagementAPI.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: ManagementAPI.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the endpoints of the management API server: %w", err)
	}
	service := &corev1.Service{}
	if err := reader.Get(ctx, ManagementAPI, service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting the Service of the management API server: %w", err)
	}
	return addresses(slices.Items, service, public), nil
}

// addresses returns the addresses of the endpoints, of the Service and the others, without
// duplicates and sorted, so that the NetworkPolicy is stable.
func addresses(endpoints []discoveryv1.EndpointSlice, service *corev1.Service, others []netip.AddrPort) []netip.AddrPort {
	found := slices.Clone(others)
	add := func(text string, port int32) {
		if addr, err := netip.ParseAddr(text); err == nil { // else a name, or None, which a policy cannot have
			found = append(found, netip.AddrPortFrom(addr.Unmap(), uint16(port))) //nolint:gosec // the API server accepts 1 to 65535
		}
	}
	for _, slice := range endpoints {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				for _, addr := range endpoint.Addresses {
					add(addr, ptr.Deref(port.Port, 0))
				}
			}
		}
	}
	for _, port := range service.Spec.Ports {
		for _, addr := range service.Spec.ClusterIPs {
			add(addr, port.Port)
		}
	}
	slices.SortFunc(found, netip.AddrPort.Compare)
	return slices.Compact(found)
}

func desiredPolicies(n controlplane.Namespace, management ManagementCluster) []client.Object {
	policy := func(name string, spec networkingv1.NetworkPolicySpec) client.Object {
		return &networkingv1.NetworkPolicy{ObjectMeta: n.ObjectMeta(name), Spec: spec}
	}
	return []client.Object{
		policy("same-namespace", sameNamespace()),
		policy(names.Etcd, etcdOnly()),
		policy("published-ports", publishedPorts()),
		// The selected pods need both of the following policies.
		policy("management-kas-access", managementAccess(management.API)),
		policy("management-kas", withoutManagement(management)),
	}
}

var incoming, outgoing = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}

// sameNamespace allows traffic from the same namespace only, except to the metrics.
// The policy of etcd is stricter.
func sameNamespace() networkingv1.NetworkPolicySpec {
	return networkingv1.NetworkPolicySpec{
		PolicyTypes: incoming,
		PodSelector: apps(metav1.LabelSelectorOpNotIn, names.Etcd),
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}, metrics()},
	}
}

// etcdOnly allows traffic to etcd, which holds the complete state of the cluster, from
// its clients. They need a certificate as well.
func etcdOnly() networkingv1.NetworkPolicySpec {
	from := func(clients ...string) []networkingv1.NetworkPolicyPeer {
		selector := apps(metav1.LabelSelectorOpIn, clients...)
		return []networkingv1.NetworkPolicyPeer{{PodSelector: &selector}}
	}
	return networkingv1.NetworkPolicySpec{
		PolicyTypes: incoming,
		PodSelector: apps(metav1.LabelSelectorOpIn, names.Etcd),
		Ingress: []networkingv1.NetworkPolicyIngressRule{
			{
				From:  from(names.KubeAPIServer, names.ControlPlaneOperator, names.Etcd, etcdbackup.App),
				Ports: tcpPorts(clientPort),
			},
			{From: from(names.Etcd), Ports: tcpPorts("peer")},
		},
	}
}

// metrics allows scrapes from namespaces with the label of monitoring.
func metrics() networkingv1.NetworkPolicyIngressRule {
	collectors := &metav1.LabelSelector{MatchLabels: map[string]string{"network.openshift.io/policy-group": "monitoring"}}
	return networkingv1.NetworkPolicyIngressRule{
		From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: collectors}},
		Ports: tcpPorts(controlplane.MetricsPortName),
	}
}

// apps selects the pods of these workloads, or of all others.
func apps(op metav1.LabelSelectorOperator, names ...string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: op, Values: names}}}
}

// The names of the published ports in the pods: of the API server, of the
// konnectivity server in the same pod, of the routers. Every other port of those
// pods is for the namespace only.
const (
	clientPort = "client"
	agentsPort = "agents"
	httpsPort  = "https"
)

// publishedPorts allows traffic from any address to ports of load balancers: their
// clients may have any. The pods authenticate their clients. A name that a pod does not have opens no
// port, so that one policy is sufficient for all of them.
func publishedPorts() networkingv1.NetworkPolicySpec {
	return networkingv1.NetworkPolicySpec{
		PolicyTypes: incoming,
		PodSelector: apps(metav1.LabelSelectorOpIn, names.KubeAPIServer, names.PrivateRouter, names.Router),
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: tcpPorts(clientPort, agentsPort, httpsPort)}},
	}
}

// nodeIdentity are the networks in which AWS answers every pod of a node: link-local
// addresses (instance metadata, credentials of ECS and of EKS Pod Identity), and
// their IPv6 equivalents.
var nodeIdentity = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("fd00:ec2::/32"),
}

// linkLocalDNS are the addresses in those networks that serve DNS only: NodeLocal
// DNSCache, and the resolver of a VPC.
var linkLocalDNS = []netip.Addr{
	netip.MustParseAddr("169.254.20.10"), netip.MustParseAddr("169.254.169.253"), netip.MustParseAddr("fd00:ec2::253"),
}

// dnsApps are the values of the label k8s-app of DNS pods: the cluster's DNS pods, and the nodes' DNS pods where these are not at a
// link-local address.
var dnsApps = []string{"kube-dns", "node-local-dns"}

// openshiftDNS are the DNS pods of OpenShift.
var openshiftDNS = networkingv1.NetworkPolicyPeer{NamespaceSelector: labelIn(corev1.LabelMetadataName, "openshift-dns")}

func labelIn(key string, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}}}
}

// withoutManagement allows egress to the own namespace, DNS and the world, except to
// the API server of the management cluster, to the identity of the node and to the
// networks that the administrator has listed.
func withoutManagement(management ManagementCluster) networkingv1.NetworkPolicySpec {
	forbidden := slices.Concat(nodeIdentity, management.Blocked)
	for _, api := range management.API {
		forbidden = append(forbidden, single(api.Addr()))
	}
	resolvers := []networkingv1.NetworkPolicyPeer{
		// Some network plugins do not treat pods as part of an IPBlock. Others write
		// every selected pod and Service of the cluster into each control plane.
		{NamespaceSelector: &metav1.LabelSelector{}, PodSelector: labelIn("k8s-app", dnsApps...)},
		openshiftDNS,
		// A node may serve DNS at the address of a Service, which may be in a
		// blocked network.
		{IPBlock: allBut("0.0.0.0/0", nodeIdentity)},
		{IPBlock: allBut("::/0", nodeIdentity)},
	}
	for _, network := range management.Blocked {
		// The VPC CNI of EKS unites rules for the same block: an exception of the last
		// rule would also close port 53.
		if !within(nodeIdentity, network) {
			resolvers = append(resolvers, networkingv1.NetworkPolicyPeer{IPBlock: allWithin(network, nodeIdentity)})
		}
	}
	for _, addr := range linkLocalDNS {
		resolvers = append(resolvers, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: single(addr).String()}})
	}
	return networkingv1.NetworkPolicySpec{
		PolicyTypes: outgoing,
		Egress: []networkingv1.NetworkPolicyEgressRule{
			{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}},
			{To: resolvers, Ports: dnsPorts(53)},
			// The port of the DNS pods of OpenShift.
			{To: []networkingv1.NetworkPolicyPeer{openshiftDNS}, Ports: dnsPorts(5353)},
			{To: []networkingv1.NetworkPolicyPeer{{IPBlock: allBut("0.0.0.0/0", forbidden)}, {IPBlock: allBut("::/0", forbidden)}}},
		},
	}
}

// managementAccess allows labelled pods to reach the API server of the management
// cluster. Policies are additive: a pod without the label gets no access from it.
func managementAccess(api []netip.AddrPort) networkingv1.NetworkPolicySpec {
	spec := networkingv1.NetworkPolicySpec{
		PolicyTypes: outgoing,
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{names.ManagementAccessLabel: "true"}},
	}
	byPort := map[uint16][]networkingv1.NetworkPolicyPeer{}
	for _, to := range api {
		byPort[to.Port()] = append(byPort[to.Port()], networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: single(to.Addr()).String()}})
	}
	for _, number := range slices.Sorted(maps.Keys(byPort)) {
		rule := networkingv1.NetworkPolicyEgressRule{To: byPort[number], Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP)}}}
		if number != 0 { // An endpoint without a port has all.
			rule.Ports = []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, intstr.FromInt32(int32(number)))}
		}
		spec.Egress = append(spec.Egress, rule)
	}
	return spec
}

func single(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }

// within reports whether a network is part of one of the others.
func within(others []netip.Prefix, network netip.Prefix) bool {
	return slices.ContainsFunc(others, func(p netip.Prefix) bool { return p.Bits() <= network.Bits() && p.Contains(network.Addr()) })
}

// allWithin returns a network without the forbidden networks that it contains.
func allWithin(network netip.Prefix, forbidden []netip.Prefix) *networkingv1.IPBlock {
	network = network.Masked()
	return allBut(network.String(), slices.DeleteFunc(slices.Clone(forbidden), func(p netip.Prefix) bool { return !within([]netip.Prefix{network}, p) }))
}

// allBut returns a range of one IP family without the networks of that family. A
// network that is inside another one is omitted.
func allBut(cidr string, forbidden []netip.Prefix) *networkingv1.IPBlock {
	all := netip.MustParsePrefix(cidr)
	forbidden = slices.DeleteFunc(slices.Clone(forbidden), func(p netip.Prefix) bool { return p.Addr().Is4() != all.Addr().Is4() })
	slices.SortFunc(forbidden, netip.Prefix.Compare) // By address, the wider network first.
	block := &networkingv1.IPBlock{CIDR: cidr}
	var last netip.Prefix
	for _, p := range forbidden {
		if last.IsValid() && last.Contains(p.Addr()) {
			continue
		}
		last, block.Except = p, append(block.Except, p.String())
	}
	return block
}

func dnsPorts(number int32) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, intstr.FromInt32(number)), port(corev1.ProtocolTCP, intstr.FromInt32(number))}
}

func tcpPorts(names ...string) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, name := range names {
		ports = append(ports, port(corev1.ProtocolTCP, intstr.FromString(name)))
	}
	return ports
}

func port(protocol corev1.Protocol, number intstr.IntOrString) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: ptr.To(protocol), Port: &number}
}

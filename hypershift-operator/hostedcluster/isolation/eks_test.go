package isolation

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/networkpolicy"
	"github.com/hosted-control-planes/hypershift/test/networkpolicy/vpccni"
)

// eks is a cluster of EKS with a control plane, cluster DNS, and as many pods with Services of others.
func eks(t *testing.T, others int) vpccni.Cluster {
	t.Helper()
	c := vpccni.Cluster{Namespaces: map[string]map[string]string{}}
	add := func(namespace, address, clusterIP string, pod networkpolicy.Party, ports ...corev1.ServicePort) {
		c.Namespaces[namespace] = map[string]string{corev1.LabelMetadataName: namespace}
		pod.Namespace, pod.Address = namespace, netip.MustParseAddr(address)
		c.Pods = append(c.Pods, pod)
		c.Services = append(c.Services, corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec:       corev1.ServiceSpec{ClusterIP: clusterIP, Selector: pod.Labels, Ports: ports},
		})
	}
	udp, tcp := corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)}, corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(53)}
	add("kube-system", "10.128.1.53", "172.20.0.10", networkpolicy.Party{Labels: map[string]string{"k8s-app": "kube-dns"}}, udp, tcp)
	for i, app := range []string{names.Etcd, names.KubeAPIServer, names.PrivateRouter, names.Router, names.ControlPlaneOperator, names.KubeControllerManager} {
		pod := componentPod(t, app)
		port := corev1.ServicePort{Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("client")}
		add(plane.Name, fmt.Sprintf("10.128.0.%d", i+2), fmt.Sprintf("172.20.1.%d", i+2), pod, port)
	}
	for i := range others {
		pod := networkpolicy.Party{Labels: map[string]string{"app": fmt.Sprint(i)}}
		add(fmt.Sprintf("tenant-%d", i), fmt.Sprintf("10.200.%d.%d", i/250, i%250), fmt.Sprintf("172.20.%d.%d", 100+i/250, i%250), pod, udp)
	}
	return c
}

// pod returns a pod of the control plane.
func pod(c vpccni.Cluster, app string) networkpolicy.Party {
	i := slices.IndexFunc(c.Pods, func(p networkpolicy.Party) bool { return p.Namespace == plane.Name && p.Labels["app"] == app })
	return c.Pods[i]
}

func TestEgressOfPodsOnEKS(t *testing.T) {
	c := eks(t, 3)
	plain := pod(c, names.KubeControllerManager)
	labelled := plain
	labelled.Labels = map[string]string{"app": "cluster-api", names.ManagementAccessLabel: "true"}
	https, dns := networkpolicy.TCP(443), networkpolicy.UDP(53)
	for name, tc := range map[string]struct {
		to                   string
		port                 networkpolicy.Port
		unlabelled, labelled bool
	}{
		"the world": {"203.0.113.7", https, true, true},
		"a pod of the namespace, although its network is blocked":     {"10.128.0.3", networkpolicy.TCP(6443), true, true},
		"a Service of the namespace, although its network is blocked": {"172.20.1.3", https, true, true},
		"the management API server at its endpoint":                   {"10.9.0.1", networkpolicy.TCP(6443), false, true},
		"the management API server at its ClusterIP":                  {"172.20.0.1", https, false, true},
		"the management API server at its public endpoint":            {"198.51.100.9", https, false, true},
		"another port of a management API server's host":              {"10.9.0.1", networkpolicy.TCP(2379), false, false},
		"instance metadata":                          {"169.254.169.254", networkpolicy.TCP(80), false, false},
		"instance metadata on a DNS port":            {"169.254.169.254", dns, false, false},
		"credentials of EKS Pod Identity":            {"169.254.170.23", networkpolicy.TCP(80), false, false},
		"a network that is blocked":                  {"10.77.0.1", networkpolicy.TCP(10250), false, false},
		"a pod of another namespace":                 {"10.200.0.1", https, false, false},
		"a Service of another namespace":             {"172.20.100.1", https, false, false},
		"cluster DNS at its Service":                 {"172.20.0.10", dns, true, true},
		"cluster DNS at its Service by TCP":          {"172.20.0.10", networkpolicy.TCP(53), true, true},
		"another port of the DNS Service":            {"172.20.0.10", https, false, false},
		"cluster DNS at its pod":                     {"10.128.1.53", dns, true, true},
		"a DNS server in a network that is blocked":  {"10.0.0.2", dns, true, true},
		"NodeLocal DNSCache":                         {"169.254.20.10", dns, true, true},
		"something else where NodeLocal DNSCache is": {"169.254.20.10", networkpolicy.TCP(9253), false, false},
		"names of the VPC":                           {"169.254.169.253", networkpolicy.TCP(53), true, true},
		"something else where the VPC's DNS is":      {"169.254.169.253", networkpolicy.TCP(80), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for pod, want := range map[*networkpolicy.Party]bool{&plain: tc.unlabelled, &labelled: tc.labelled} {
				if got := c.Egress(policies(management), *pod, netip.MustParseAddr(tc.to), tc.port); got != want {
					t.Errorf("a pod with the labels %v reaches it: %v, want %v", pod.Labels, got, want)
				}
			}
		})
	}
}

// The union of the numbers of named ports is open on each selected pod.
func TestIngressOfPodsOnEKS(t *testing.T) {
	c := eks(t, 3)
	stranger, scheduler := netip.MustParseAddr("203.0.113.7"), pod(c, names.KubeControllerManager).Address
	for app, want := range map[string]struct{ strangers, scheduler []string }{
		names.KubeAPIServer:        {[]string{"agents", "client"}, []string{"agents", "client", "health"}},
		names.PrivateRouter:        {[]string{"https"}, nil},
		names.Router:               {[]string{"https"}, nil},
		names.Etcd:                 {nil, []string{}},
		names.ControlPlaneOperator: {nil, []string{"health", "metrics"}},
	} {
		pod := pod(c, app)
		open := func(from netip.Addr) []string {
			var got []string
			for name, number := range pod.Ports {
				if c.Ingress(policies(management), from, pod, networkpolicy.TCP(number)) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			return got
		}
		if got := open(stranger); !slices.Equal(got, want.strangers) {
			t.Errorf("%s: the ports %q are open to all, want %q", app, got, want.strangers)
		}
		if got := open(scheduler); want.scheduler != nil && !slices.Equal(got, want.scheduler) {
			t.Errorf("%s: the ports %q are open to the namespace, want %q", app, got, want.scheduler)
		}
	}
	etcd := pod(c, names.Etcd)
	for _, client := range []string{names.KubeAPIServer, names.ControlPlaneOperator} {
		if !c.Ingress(policies(management), pod(c, client).Address, etcd, networkpolicy.TCP(etcd.Ports["client"])) {
			t.Errorf("%s does not reach etcd", client)
		}
	}
}

// In its strict mode the agent gives a pod without a policy no connections at all.
func TestPoliciesSelectEachPodInBothDirections(t *testing.T) {
	c := eks(t, 0)
	for _, pod := range c.Pods {
		for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
			if pod.Namespace == plane.Name && !c.Isolated(policies(management), pod, direction) {
				t.Errorf("no policy selects %v for %s", pod.Labels, direction)
			}
		}
	}
}

// The controller writes the PolicyEndpoints of each control plane again when one of their pods changes.
func TestPolicyEndpointsDoNotGrowWithTheCluster(t *testing.T) {
	small, large := eks(t, 0), eks(t, 1300)
	for _, p := range policies(management) {
		a, b := small.Resolve(p), large.Resolve(p)
		if len(a.Ingress) != len(b.Ingress) || len(a.Egress) != len(b.Egress) {
			t.Errorf("%s: %d entries, and %d in %d objects if the cluster has 1,300 pods of others", p.Name, len(a.Ingress)+len(a.Egress), len(b.Ingress)+len(b.Egress), b.Objects())
		}
		if objects := b.Objects(); objects != 1 {
			t.Errorf("%s: %d objects", p.Name, objects)
		}
	}
}

package isolation

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/controlplaneoperator"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/networkpolicy"
)

var plane = controlplane.Namespace{Name: "clusters-demo", Cluster: client.ObjectKey{Namespace: "clusters", Name: "demo"}}

// management is a cluster with an API server with an endpoint in each family, a Service and a public address. Its administrator blocks its
// networks.
var management = ManagementCluster{
	API: []netip.AddrPort{
		netip.MustParseAddrPort("10.9.0.1:6443"), netip.MustParseAddrPort("[fd09::1]:6443"),
		netip.MustParseAddrPort("172.20.0.1:443"), netip.MustParseAddrPort("198.51.100.9:443"),
	},
	Blocked: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.20.0.0/16"), netip.MustParsePrefix("fd10::/16")},
}

func policies(management ManagementCluster) []networkingv1.NetworkPolicy {
	var found []networkingv1.NetworkPolicy
	for _, obj := range desiredPolicies(plane, management) {
		found = append(found, *obj.(*networkingv1.NetworkPolicy))
	}
	return found
}

// member is a pod of the control plane's namespace.
func member(labels map[string]string) networkpolicy.Party {
	return networkpolicy.Party{
		Namespace: plane.Name, NamespaceLabels: map[string]string{hyperv1.ControlPlaneNamespaceLabel: "true"},
		Labels: labels, Address: netip.MustParseAddr("10.128.0.2"),
	}
}

// componentPod is a pod of a component, with the ports that its asset names.
func componentPod(t *testing.T, app string) networkpolicy.Party {
	t.Helper()
	pod := member(map[string]string{"app": app})
	files := map[string]string{
		names.Etcd: "etcd/assets/statefulset.yaml", names.KubeAPIServer: "kubeapiserver/assets/deployment.yaml",
		names.PrivateRouter: "router/assets/deployment.yaml", names.Router: "router/assets/deployment.yaml",
	}
	if files[app] == "" {
		pod.Ports = map[string]int32{controlplane.MetricsPortName: controlplane.MetricsPort, controlplane.HealthPortName: controlplane.HealthPort}
		return pod
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "control-plane-operator", "components", files[app]))
	if err != nil {
		t.Fatal(err)
	}
	var workload appsv1.Deployment // A StatefulSet has its template in the same place.
	if err := yaml.Unmarshal(text, &workload); err != nil {
		t.Fatal(err)
	}
	pod.Ports = map[string]int32{}
	for _, c := range slices.Concat(workload.Spec.Template.Spec.InitContainers, workload.Spec.Template.Spec.Containers) {
		for _, p := range c.Ports {
			pod.Ports[p.Name] = p.ContainerPort
		}
	}
	return pod
}

func address(a string) networkpolicy.Party {
	return networkpolicy.Party{Address: netip.MustParseAddr(a)}
}

// foreign is a pod of another namespace.
func foreign(addr string, labels map[string]string) networkpolicy.Party {
	return networkpolicy.Party{Namespace: "elsewhere", NamespaceLabels: labels, Address: netip.MustParseAddr(addr)}
}

func TestEgressOfPods(t *testing.T) {
	plain := member(map[string]string{"app": "kube-controller-manager"})
	labelled := member(map[string]string{"app": "cluster-api", names.ManagementAccessLabel: "true"})
	https, dns := networkpolicy.TCP(443), networkpolicy.UDP(53)
	// Without an address: a plugin that does not treat pods as part of blocks.
	clusterDNS := func(app string) networkpolicy.Party {
		return networkpolicy.Party{Namespace: "kube-system", Labels: map[string]string{"k8s-app": app}}
	}
	openshift := networkpolicy.Party{Namespace: "openshift-dns", NamespaceLabels: map[string]string{corev1.LabelMetadataName: "openshift-dns"}}
	for name, tc := range map[string]struct {
		to   networkpolicy.Party
		port networkpolicy.Port
		// unlabelled and labelled is whether pods without and with the label reach it.
		unlabelled, labelled bool
	}{
		"the world":         {address("203.0.113.7"), https, true, true},
		"the world by IPv6": {address("2001:db8::7"), https, true, true},
		"a pod of the namespace, although its network is blocked": {member(nil), networkpolicy.TCP(6443), true, true},

		"the management API server at its endpoint":            {address("10.9.0.1"), networkpolicy.TCP(6443), false, true},
		"the management API server at its endpoint by IPv6":    {address("fd09::1"), networkpolicy.TCP(6443), false, true},
		"the management API server at its ClusterIP":           {address("172.20.0.1"), https, false, true},
		"the management API server at its public endpoint":     {address("198.51.100.9"), https, false, true},
		"another port of a management API server's host":       {address("10.9.0.1"), networkpolicy.TCP(2379), false, false},
		"another port of a management API server's host, IPv6": {address("fd09::1"), networkpolicy.TCP(10250), false, false},

		"instance metadata":                  {address("169.254.169.254"), networkpolicy.TCP(80), false, false},
		"instance metadata by IPv6":          {address("fd00:ec2::254"), networkpolicy.TCP(80), false, false},
		"instance metadata on a DNS port":    {address("169.254.169.254"), networkpolicy.TCP(53), false, false},
		"credentials of ECS":                 {address("169.254.170.2"), networkpolicy.TCP(80), false, false},
		"credentials of EKS Pod Identity":    {address("169.254.170.23"), networkpolicy.TCP(80), false, false},
		"the same by IPv6":                   {address("fd00:ec2::23"), networkpolicy.TCP(80), false, false},
		"another link-local address":         {address("169.254.1.1"), https, false, false},
		"another link-local address by IPv6": {address("fe80::1"), https, false, false},

		"a network that is blocked":             {address("10.77.0.1"), networkpolicy.TCP(10250), false, false},
		"a network that is blocked, by IPv6":    {address("fd10::7"), https, false, false},
		"a pod of another namespace":            {foreign("10.128.0.77", nil), https, false, false},
		"names, in a network that is blocked":   {foreign("10.128.0.53", nil), dns, true, true},
		"names, in a network that is no world":  {clusterDNS("kube-dns"), networkpolicy.TCP(53), true, true},
		"names of a node's own pod":             {clusterDNS("node-local-dns"), dns, true, true},
		"names of OpenShift":                    {openshift, networkpolicy.UDP(5353), true, true},
		"other ports where names are":           {clusterDNS("kube-dns"), networkpolicy.TCP(9153), false, false},
		"names at the address of a Service":     {address("172.20.0.10"), dns, true, true},
		"names at the node":                     {address("169.254.20.10"), dns, true, true},
		"names of the VPC":                      {address("169.254.169.253"), networkpolicy.TCP(53), true, true},
		"names of the VPC by IPv6":              {address("fd00:ec2::253"), dns, true, true},
		"something else where the VPC's DNS is": {address("169.254.169.253"), networkpolicy.TCP(80), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for pod, want := range map[*networkpolicy.Party]bool{&plain: tc.unlabelled, &labelled: tc.labelled} {
				if got := networkpolicy.Egress(policies(management), *pod, tc.to, tc.port); got != want {
					t.Errorf("a pod with the labels %v reaches it: %v, want %v", pod.Labels, got, want)
				}
			}
		})
	}
}

func TestAPodThatIsNotLabelledTrueDoesNotReachTheManagementCluster(t *testing.T) {
	pod := member(map[string]string{"app": "etcd", names.ManagementAccessLabel: "false"})
	if networkpolicy.Egress(policies(management), pod, address("10.9.0.1"), networkpolicy.TCP(6443)) {
		t.Error("it does")
	}
}

// Every program of the namespace with a token is labelled, whatever the user's
// labels are.
func TestProgramsWithATokenReachTheManagementCluster(t *testing.T) {
	objs, err := component.Render(controlplaneoperator.Component, &controlplane.Target{
		Namespace: plane, Images: map[string]string{controlplane.OperatorImage: "operator"},
		Pods: controlplane.PodSettings{Labels: map[string]hyperv1.LabelValue{names.ManagementAccessLabel: "false"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := member(component.AsWorkload(objs[len(objs)-1]).Template.Labels)
	if !networkpolicy.Egress(policies(management), pod, address("10.9.0.1"), networkpolicy.TCP(6443)) {
		t.Errorf("a pod with the labels %v does not", pod.Labels)
	}
}

// Everybody may come to the published ports; no other port of those pods is for anybody outside of the namespace.
func TestPublishedPortsAreOpen(t *testing.T) {
	strangers := map[string]networkpolicy.Party{
		"an address outside of the cluster": address("203.0.113.7"),
		"a pod of another namespace":        foreign("10.128.0.77", map[string]string{"team": "b"}),
		"a pod of another control plane":    foreign("10.128.0.78", map[string]string{hyperv1.ControlPlaneNamespaceLabel: "true"}),
	}
	for app, want := range map[string][]string{
		names.KubeAPIServer:         {"agents", "client"},
		names.PrivateRouter:         {"https"},
		names.Router:                {"https"},
		names.Etcd:                  nil,
		names.ControlPlaneOperator:  nil,
		names.KubeControllerManager: nil,
		"":                          nil,
	} {
		pod := componentPod(t, app)
		if want != nil && len(pod.Ports) <= len(want) {
			t.Errorf("%s has the ports %v: one that must stay closed is missing from this test", app, pod.Ports)
		}
		for who, stranger := range strangers {
			t.Run(app+" for "+who, func(t *testing.T) {
				var got []string
				for name, number := range pod.Ports {
					if networkpolicy.Ingress(policies(management), stranger, pod, networkpolicy.TCP(number)) {
						got = append(got, name)
					}
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("the ports %q are open, want %q", got, want)
				}
				if networkpolicy.Ingress(policies(management), stranger, pod, networkpolicy.TCP(9445)) {
					t.Error("a port without a name is open")
				}
			})
		}
	}
}

func TestPodsOfTheNamespaceReachEachOther(t *testing.T) {
	for _, app := range []string{names.KubeAPIServer, names.PrivateRouter, names.KubeControllerManager, ""} {
		if !networkpolicy.Ingress(policies(management), member(map[string]string{"app": "x"}), componentPod(t, app), networkpolicy.TCP(controlplane.HealthPort)) {
			t.Errorf("%q is closed to its own namespace", app)
		}
	}
}

func TestIngressOfEtcd(t *testing.T) {
	etcd := componentPod(t, names.Etcd)
	for app, want := range map[string][]string{
		names.KubeAPIServer: {"client"}, names.ControlPlaneOperator: {"client"}, names.Etcd: {"client", "peer"}, names.KubeControllerManager: nil,
	} {
		t.Run(app, func(t *testing.T) {
			var got []string
			for name, number := range etcd.Ports {
				if networkpolicy.Ingress(policies(management), member(map[string]string{"app": app}), etcd, networkpolicy.TCP(number)) {
					got = append(got, name)
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("it reaches %v, want %v", got, want)
			}
		})
	}
}

func TestIngressOfMetrics(t *testing.T) {
	monitoring := foreign("10.128.0.90", map[string]string{"network.openshift.io/policy-group": "monitoring"})
	other := foreign("10.128.0.91", map[string]string{"network.openshift.io/policy-group": "ingress"})
	// A label is no proof of anything. etcd serves its metrics to whoever reaches them, so that only kubelets do, for their probes.
	for app, served := range map[string]bool{names.Etcd: false, names.ControlPlaneOperator: true} {
		pod := componentPod(t, app)
		reaches := func(from networkpolicy.Party, port string) bool {
			return networkpolicy.Ingress(policies(management), from, pod, networkpolicy.TCP(pod.Ports[port]))
		}
		if got := reaches(monitoring, controlplane.MetricsPortName); got != served {
			t.Errorf("%s: a monitoring namespace reaches the metrics: %v, want %v", app, got, served)
		}
		if reaches(other, controlplane.MetricsPortName) {
			t.Errorf("%s: every namespace reaches the metrics", app)
		}
		for port := range pod.Ports {
			if port != controlplane.MetricsPortName && reaches(monitoring, port) {
				t.Errorf("%s: a monitoring namespace reaches port %s", app, port)
			}
		}
	}
}

// The API server refuses an exception that is not within its block.
func TestNetworksAreExceptedOnce(t *testing.T) {
	got := allBut("0.0.0.0/0", []netip.Prefix{
		netip.MustParsePrefix("10.9.0.1/32"), netip.MustParsePrefix("fd09::1/128"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("10.0.0.0/16"),
	})
	if want := []string{"10.0.0.0/8", "169.254.0.0/16"}; !slices.Equal(got.Except, want) {
		t.Errorf("got %v, want %v", got.Except, want)
	}
}

func TestAddressesOfTheManagementCluster(t *testing.T) {
	slice := func(addresses ...string) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}}, Ports: []discoveryv1.EndpointPort{{Port: ptr.To[int32](6443)}}}
	}
	service := func(ips ...string) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{ClusterIPs: ips, Ports: []corev1.ServicePort{{Port: 443}}}}
	}
	for name, tc := range map[string]struct {
		slices  []discoveryv1.EndpointSlice
		service *corev1.Service
		public  []netip.AddrPort
		want    []string
	}{
		"none": {service: service()},
		"both families, in order": {
			[]discoveryv1.EndpointSlice{slice("fd09::1"), slice("10.9.0.2", "10.9.0.1")}, service(), nil, []string{"10.9.0.1:6443", "10.9.0.2:6443", "[fd09::1]:6443"},
		},
		"each once":                  {[]discoveryv1.EndpointSlice{slice("10.9.0.1"), slice("10.9.0.1", "::ffff:10.9.0.1")}, service(), nil, []string{"10.9.0.1:6443"}},
		"a name is not an address":   {[]discoveryv1.EndpointSlice{slice("api.example.test")}, service("None"), nil, nil},
		"the Service, both families": {nil, service("172.20.0.1", "fd20::1"), nil, []string{"172.20.0.1:443", "[fd20::1]:443"}},
		"a public endpoint":          {nil, service(), []netip.AddrPort{netip.MustParseAddrPort("198.51.100.9:443")}, []string{"198.51.100.9:443"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range addresses(tc.slices, tc.service, tc.public) {
				got = append(got, a.String())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

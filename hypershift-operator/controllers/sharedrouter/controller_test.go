package sharedrouter

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/haproxy"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	operatorNamespace = "hypershift"
	ours, theirs      = "222222222222", "333333333333"
)

// installation is a shared router with clusters.
type installation struct {
	*testenv.Env
	// connections are the connections that AWS lists, and questions the number of lists.
	connections []endpointservice.Connection
	questions   int
	err         error
}

func (i *installation) Connections(context.Context, endpointservice.Owner) ([]endpointservice.Connection, error) {
	i.questions++
	return slices.Clone(i.connections), i.err
}

func newInstallation(t testing.TB) *installation {
	i := &installation{Env: testenv.New(t, testenv.WithSchemas("config/crd"))}
	i.Start = func() testenv.Pass {
		c := New(Options{Client: i.Client(), Reader: i.Client(), Scheme: i.Scheme, Recorder: i.Events, Clock: i.Clock, Namespace: operatorNamespace, Connections: i, Limits: sharedrouter.DefaultLimits, Resync: 30 * time.Minute})
		return i.PassOverKeys(&corev1.ServiceList{}, c.Reconcile)
	}
	i.Create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}},
		&corev1.Service{ObjectMeta: testenv.In(operatorNamespace, sharedrouter.Public), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "shared-router-0", Labels: map[string]string{"app": sharedrouter.Public}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "hypershift-operator-0", Labels: map[string]string{"app": "hypershift-operator"}}},
	)
	i.Restart()
	return i
}

// cluster creates a cluster of an account with the shared router.
func (i *installation) cluster(name, account string) *hyperv1.HostedCluster {
	hc := testenv.PrivateCluster()
	hc.Name, hc.UID, hc.Spec.InfraID = name, types.UID(name), name+"-x"
	hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "true"}
	hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	hc.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = hyperv1.RoleARN("arn:aws:iam::" + account + ":role/cpo")
	hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{testenv.Published(hyperv1.APIServer, "api."+name+".example.com")}
	hc.CreationTimestamp = metav1.NewTime(i.Clock.Now())
	i.Clock.Step(time.Second)
	i.Create(hc)
	return hc
}

// serve creates the namespace and the Services of a control plane.
func (i *installation) serve(name string, n int) {
	i.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-" + name, Labels: map[string]string{hyperv1.HostedClusterUIDLabel: name}}})
	for service, port := range map[string]int32{names.KubeAPIServer: 6443, names.KonnectivityServer: 8091} {
		i.Create(&corev1.Service{ObjectMeta: testenv.In("clusters-"+name, service), Spec: corev1.ServiceSpec{
			ClusterIP: fmt.Sprintf("10.57.0.%d", n), Ports: []corev1.ServicePort{{Port: port}},
		}})
	}
}

// claim reports an endpoint, as the control-plane-operator of the cluster does.
func (i *installation) claim(name, endpoint string) {
	es := &hyperv1.AWSEndpointService{ObjectMeta: testenv.In("clusters-"+name, sharedrouter.EndpointService)}
	if !i.Exists(es) {
		i.Create(es)
	}
	i.Change(es, func() { es.Status.EndpointID = endpoint })
}

// config returns the ConfigMap of the router.
func (i *installation) config() map[string]string {
	cm := &corev1.ConfigMap{ObjectMeta: testenv.In(operatorNamespace, sharedrouter.Public)}
	i.Get(cm)
	return cm.Data
}

// settle reconciles until nothing changes any more.
func (i *installation) settle() {
	for range 5 {
		_ = i.Try()
		i.Clock.Step(time.Minute)
	}
}

func (i *installation) owners() map[string]string { return sharedrouter.Owners(i.config()) }

func TestTheRouterServesTheClustersThatChooseIt(t *testing.T) {
	i := newInstallation(t)
	i.cluster("a", ours)
	b := i.cluster("b", theirs)
	i.Change(b, func() {
		b.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AllowedCIDRBlocks: []hyperv1.CIDRBlock{"198.51.100.0/24"}}
	})
	c := i.cluster("c", ours)
	i.Change(c, func() { c.Annotations = nil })
	i.cluster("starting", ours) // has no Services
	for n, name := range []string{"a", "b", "c"} {
		i.serve(name, n+1)
	}
	i.connections = []endpointservice.Connection{{Endpoint: "vpce-0a", Account: ours}, {Endpoint: "vpce-0b", Account: theirs}}
	i.claim("a", "vpce-0a")
	i.claim("b", "vpce-0b")
	i.settle()
	want := sharedrouter.Table{Limits: sharedrouter.DefaultLimits}
	for n, name := range []string{"a", "b"} {
		address := netip.MustParseAddr(fmt.Sprintf("10.57.0.%d", n+1))
		host := "api." + name + ".example.com"
		cluster := sharedrouter.Cluster{
			Namespace: "clusters-" + name, API: netip.AddrPortFrom(address, 6443), Konnectivity: netip.AddrPortFrom(address, 8091),
			PublicHosts: []string{host}, PrivateAPI: []string{names.LocalAPI(name), host}, PrivateKonnectivity: []string{names.LocalApp(name, names.KonnectivityServer)},
			Endpoints: []string{"vpce-0" + name},
		}
		if name == "b" {
			cluster.Allowed = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
		}
		want.Clusters = append(want.Clusters, cluster)
	}
	data, _ := want.Data()
	if d := cmp.Diff(data, i.config()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// The pods of the router, and no others, read it at once.
	for name, annotated := range map[string]bool{"shared-router-0": true, "hypershift-operator-0": false} {
		pod := &corev1.Pod{ObjectMeta: testenv.In(operatorNamespace, name)}
		i.Get(pod)
		if got := pod.Annotations[haproxy.ConfigAnnotation] != ""; got != annotated {
			t.Errorf("pod %s is annotated: %v", name, got)
		}
	}
	if writes := i.Later(); writes != 0 {
		t.Errorf("%d writes without a change", writes)
	}
}

// A cluster that leaves the router is served as long as it is connected.
func TestALeavingClusterIsServedWhileItIsConnected(t *testing.T) {
	i := newInstallation(t)
	a := i.cluster("a", ours)
	i.serve("a", 1)
	i.connections = []endpointservice.Connection{{Endpoint: "vpce-0a", Account: ours}}
	i.claim("a", "vpce-0a")
	i.settle()
	i.Change(a, func() { a.Annotations = nil })
	i.settle()
	if got := i.owners(); got["vpce-0a"] != "clusters-a" || !strings.Contains(i.config()["public.map"], "api.a.example.com") {
		t.Errorf("while it is connected it is not served: %v", got)
	}
	i.Delete(&hyperv1.AWSEndpointService{ObjectMeta: testenv.In("clusters-a", sharedrouter.EndpointService)})
	i.settle()
	if got := i.owners(); len(got) != 0 || i.config()["public.map"] != "" {
		t.Errorf("it is still served: %v", got)
	}
}

// What tenants write about endpoints is believed only as far as AWS confirms it.
func TestATenantGetsNoEndpointOfAnother(t *testing.T) {
	i := newInstallation(t)
	i.cluster("attacker", theirs)
	i.cluster("victim", ours)
	i.cluster("neighbour", ours)
	for n, name := range []string{"attacker", "victim", "neighbour"} {
		i.serve(name, n+1)
	}
	i.connections = []endpointservice.Connection{{Endpoint: "vpce-0a", Account: ours}, {Endpoint: "vpce-0b", Account: theirs}}
	i.claim("attacker", "vpce-0a") // before its owner reports it
	i.settle()
	if got := i.owners(); len(got) != 0 {
		t.Errorf("an endpoint of another account: %v", got)
	}
	i.claim("victim", "vpce-0a")
	i.settle()
	i.claim("neighbour", "vpce-0a") // the same account, later
	i.settle()
	if got := i.owners(); !maps.Equal(got, map[string]string{"vpce-0a": "clusters-victim"}) {
		t.Errorf("owners %v", got)
	}
	i.claim("attacker", "vpce-0b")
	i.settle()
	if got := i.owners(); !maps.Equal(got, map[string]string{"vpce-0a": "clusters-victim", "vpce-0b": "clusters-attacker"}) {
		t.Errorf("owners %v", got)
	}
	// A tenant that reports one endpoint after the other asks AWS as rarely as one that reports none that exists.
	i.questions = 0
	for n := range 60 {
		i.claim("attacker", fmt.Sprintf("vpce-0%016x", n))
		_ = i.Try()
		i.Clock.Step(time.Second)
	}
	if i.questions > 6 {
		t.Errorf("%d questions to AWS within a minute", i.questions)
	}
	if got := i.owners(); got["vpce-0a"] != "clusters-victim" {
		t.Errorf("owners %v", got)
	}
}

// While AWS does not answer, the endpoints that are known stay.
func TestKnownEndpointsNeedNoAWS(t *testing.T) {
	i := newInstallation(t)
	i.cluster("a", ours)
	i.serve("a", 1)
	i.connections = []endpointservice.Connection{{Endpoint: "vpce-0a", Account: ours}}
	i.claim("a", "vpce-0a")
	i.settle()
	i.connections, i.err = nil, fmt.Errorf("AWS does not answer")
	i.Restart()
	i.cluster("b", ours)
	i.serve("b", 2)
	i.claim("b", "vpce-0b")
	i.settle()
	if got := i.owners(); !maps.Equal(got, map[string]string{"vpce-0a": "clusters-a"}) {
		t.Errorf("owners %v", got)
	}
	if !strings.Contains(i.config()["public.map"], "api.b.example.com") {
		t.Error("the other cluster has no public host")
	}
}

// A report that is missing for a moment gives the endpoint of a cluster to no other one, and disconnects no node.
func TestAnEndpointIsKeptUntilAnotherOneIsReported(t *testing.T) {
	i := newInstallation(t)
	i.cluster("attacker", ours) // older, and of the same account
	victim := i.cluster("victim", ours)
	i.serve("attacker", 1)
	i.serve("victim", 2)
	i.connections = []endpointservice.Connection{{Endpoint: "vpce-0a", Account: ours}, {Endpoint: "vpce-0b", Account: ours}}
	i.claim("victim", "vpce-0a")
	i.settle()
	i.claim("attacker", "vpce-0a")
	i.claim("victim", "")
	i.Restart()
	i.settle()
	if got := i.owners(); !maps.Equal(got, map[string]string{"vpce-0a": "clusters-victim"}) {
		t.Errorf("without a report the owners are %v", got)
	}
	i.Change(victim, func() { victim.Spec.Platform.AWS = nil }) // a spec that cannot be read
	i.settle()
	if got := i.owners(); got["vpce-0a"] != "clusters-victim" {
		t.Errorf("without a platform the owners are %v", got)
	}
	i.Get(victim)
	i.Change(victim, func() {
		victim.Spec.Platform.AWS = testenv.PrivateCluster().Spec.Platform.AWS
		victim.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = hyperv1.RoleARN("arn:aws:iam::" + ours + ":role/cpo")
	})
	i.claim("victim", "vpce-0b")
	i.settle()
	if got := i.owners(); got["vpce-0b"] != "clusters-victim" {
		t.Errorf("after another report the owners are %v", got)
	}
}

// Two HostedClusters can have the same name of a namespace. It belongs to one of them.
func TestTheNamespaceOfAnotherClusterIsNotServed(t *testing.T) {
	i := newInstallation(t)
	i.cluster("demo", ours)
	i.serve("demo", 1)
	i.claim("demo", "vpce-0a")
	i.connections = []endpointservice.Connection{{Endpoint: "vpce-0a", Account: ours}}
	i.settle()
	before := i.config()
	foreign := testenv.PrivateCluster()
	foreign.Namespace, foreign.Name, foreign.UID = "clusters-demo-x", "y", "foreign"
	foreign.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "true"}
	foreign.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{testenv.Published(hyperv1.APIServer, "api.foreign.example.com")}
	foreign.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AllowedCIDRBlocks: []hyperv1.CIDRBlock{"192.0.2.1/32"}}
	i.Create(foreign, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo-x-y", Labels: map[string]string{hyperv1.HostedClusterUIDLabel: "another"}}},
		&corev1.Service{ObjectMeta: testenv.In("clusters-demo-x-y", names.KubeAPIServer), Spec: corev1.ServiceSpec{ClusterIP: "10.57.0.9", Ports: []corev1.ServicePort{{Port: 6443}}}})
	i.settle()
	if d := cmp.Diff(before, i.config()); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
}

// An API server that gets another address is followed.
func TestAnotherAddressIsServed(t *testing.T) {
	i := newInstallation(t)
	i.cluster("a", ours)
	i.serve("a", 1)
	i.settle()
	svc := &corev1.Service{ObjectMeta: testenv.In("clusters-a", names.KubeAPIServer)}
	i.connections = []endpointservice.Connection{{Endpoint: "vpce-0a", Account: ours}}
	i.claim("a", "vpce-0a")
	i.settle()
	i.Delete(svc)
	i.settle()
	if got := i.config()["public.map"]; got != "" {
		t.Errorf("without a Service, it is at %s", got)
	}
	if got := i.owners(); got["vpce-0a"] != "clusters-a" {
		t.Errorf("without a Service, its endpoint is free: %v", got)
	}
	i.Create(&corev1.Service{ObjectMeta: testenv.In("clusters-a", names.KubeAPIServer), Spec: corev1.ServiceSpec{ClusterIP: "10.57.0.7", Ports: []corev1.ServicePort{{Port: 6443}}}})
	i.settle()
	if got := i.config()["public.map"]; !strings.Contains(got, "10.57.0.7|6443") {
		t.Errorf("it is at %s", got)
	}
}

// Bad clusters are left out, and take nothing from the others.
func TestBadClustersAreLeftOut(t *testing.T) {
	i := newInstallation(t)
	i.cluster("a", ours)
	i.serve("a", 1)
	for name, change := range map[string]func(*hyperv1.HostedCluster){
		"same": func(hc *hyperv1.HostedCluster) {
			hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{testenv.Published(hyperv1.APIServer, "API.a.example.com")}
		},
		"text": func(hc *hyperv1.HostedCluster) {
			hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{testenv.Published(hyperv1.APIServer, "x\nuse_backend y")}
		},
		"none":     func(hc *hyperv1.HostedCluster) { hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform} },
		"headless": func(*hyperv1.HostedCluster) {},
	} {
		hc := i.cluster(name, ours)
		i.Change(hc, func() { change(hc) })
		if name != "headless" {
			i.serve(name, 9)
		}
	}
	i.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-headless", Labels: map[string]string{hyperv1.HostedClusterUIDLabel: "headless"}}})
	i.Create(&corev1.Service{ObjectMeta: testenv.In("clusters-headless", names.KubeAPIServer), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}})
	i.settle()
	if got, want := i.config()["public.map"], "api.a.example.com 10.57.0.1|6443\n"; got != want {
		t.Errorf("public hosts %q, want %q", got, want)
	}
	if text := i.config()[sharedrouter.ConfigFile]; strings.Contains(text, "use_backend y") {
		t.Error(text)
	}
}

func TestCrashConsistency(t *testing.T) {
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		i := newInstallation(t)
		for n, name := range []string{"a", "b"} {
			i.cluster(name, ours)
			i.serve(name, n+1)
			i.claim(name, "vpce-0"+name)
			i.connections = append(i.connections, endpointservice.Connection{Endpoint: "vpce-0" + name, Account: ours})
		}
		s := i.Scenario()
		s.Ready = func(context.Context) string {
			if !i.Exists(&corev1.ConfigMap{ObjectMeta: testenv.In(operatorNamespace, sharedrouter.Public)}) || len(i.owners()) != 2 {
				return "the endpoints"
			}
			return ""
		}
		s.Delete = func(ctx context.Context) error {
			return client.IgnoreNotFound(i.Admin().Delete(ctx, &corev1.Service{ObjectMeta: testenv.In(operatorNamespace, sharedrouter.Public)}))
		}
		return s
	})
}

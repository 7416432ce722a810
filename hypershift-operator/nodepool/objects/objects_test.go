package objects

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func fakeClient(objs ...client.Object) client.Client {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, hyperv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).Build()
}

// metaOf is the metadata of an object of the pool.
func metaOf(name string) metav1.ObjectMeta {
	np := nodepooltest.NodePool()
	return metav1.ObjectMeta{
		Namespace: nodepooltest.Namespace, Name: name,
		Labels: map[string]string{hyperv1.NodePoolLabel: np.Name}, Annotations: map[string]string{hyperv1.NodePoolAnnotation: Key(np)},
	}
}

func namespace(cluster string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: nodepooltest.Namespace, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: cluster}}}
}

func poolOf(t *testing.T, c client.Client) *Pool {
	t.Helper()
	p := &Pool{NodePool: nodepooltest.NodePool(), HostedCluster: nodepooltest.HostedCluster(), Namespace: nodepooltest.Namespace}
	if err := p.Read(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTemplatesOfMachineSetsAreKept(t *testing.T) {
	bootstrap := func(name, config string) *hyperv1.NodeBootstrapTemplate {
		b := &hyperv1.NodeBootstrapTemplate{ObjectMeta: metaOf(name)}
		b.Spec.Template.Spec.ConfigName = config
		return b
	}
	config := func(name string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metaOf(name)}
		s.Labels[apply.InventoryLabel] = names.HypershiftOperator + "." + ConfigsSet
		return s
	}
	set := &clusterv1.MachineSet{ObjectMeta: metaOf("set")}
	set.Spec.Template.Spec.InfrastructureRef.Name, set.Spec.Template.Spec.Bootstrap.ConfigRef.Name = "former-t", "former-b"
	template := func(name string) client.Object { return &infrav1.AWSMachineTemplate{ObjectMeta: metaOf(name)} }
	c := fakeClient(namespace("clusters/demo"), set, template("old-t"), template("former-t"), template("current-t"),
		bootstrap("old-b", "old-c"), bootstrap("former-b", "former-c"), bootstrap("current-b", "current-c"), config("old-c"), config("former-c"), config("current-c"))
	if err := poolOf(t, c).Prune(t.Context(), c, Current{Template: "current-t", Bootstrap: "current-b", Config: "current-c"}); err != nil {
		t.Fatal(err)
	}
	p := poolOf(t, c)
	var got []string
	for _, x := range p.Templates {
		got = append(got, x.Name)
	}
	for _, x := range p.Bootstraps {
		got = append(got, x.Name)
	}
	configs, err := p.Configs(t.Context(), c)
	for _, x := range configs {
		got = append(got, x.Name)
	}
	if want := []string{"current-t", "former-t", "current-b", "former-b", "current-c", "former-c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
}

func TestObjectsInTheNamespaceOfAnotherClusterAreNotRead(t *testing.T) {
	c := fakeClient(namespace("others/demo"), &clusterv1.Machine{ObjectMeta: metaOf("workers-1")})
	if p := poolOf(t, c); p.ControlPlaneNamespace != nil || len(p.Machines) > 0 {
		t.Errorf("namespace %v, machines %v", p.ControlPlaneNamespace, p.Machines)
	}
}

func TestANodePoolThatExistsIsNotLost(t *testing.T) {
	now := time.Unix(1, 0)
	machine := &clusterv1.Machine{ObjectMeta: metaOf("workers-1")}
	np := nodepooltest.NodePool()
	for name, c := range map[string]struct {
		cache, live client.Client
		lost        bool
	}{
		"a pool that is deleted":                       {fakeClient(namespace("clusters/demo"), machine), fakeClient(), true},
		"a pool that the cache does not have yet":      {fakeClient(namespace("clusters/demo"), machine), fakeClient(np), false},
		"a pool without objects":                       {fakeClient(namespace("clusters/demo")), fakeClient(), false},
		"objects in a namespace that is deleted first": {fakeClient(machine), fakeClient(), false},
	} {
		p, err := Lost(t.Context(), c.cache, c.live, client.ObjectKeyFromObject(np), now)
		if err != nil || (p != nil) != c.lost {
			t.Errorf("%s: %v, %v", name, p, err)
		}
		if c.lost && (len(p.Machines) != 1 || !p.Dying() || p.NodePool.Spec.ClusterName != "demo") {
			t.Errorf("%s: %d machines of %+v", name, len(p.Machines), p.NodePool)
		}
	}
}

func TestAnnotateWritesChangesOnly(t *testing.T) {
	m := &clusterv1.Machine{ObjectMeta: metaOf("workers-1")}
	c := fakeClient(m)
	version := func() string { return m.ResourceVersion }
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	before := version()
	if err := Annotate(t.Context(), c, m, map[string]any{"absent": nil, hyperv1.NodePoolAnnotation: "clusters/workers"}); err != nil || version() != before {
		t.Errorf("version %s after %s: %v", version(), before, err)
	}
	if err := Annotate(t.Context(), c, m, map[string]any{"a": "b", hyperv1.NodePoolAnnotation: nil}); err != nil || version() == before || m.Annotations["a"] != "b" || len(m.Annotations) != 1 {
		t.Errorf("annotations %v, %v", m.Annotations, err)
	}
}

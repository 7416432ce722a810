package certificates

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const namespace = "clusters-demo"

func init() { ctrl.SetLogger(logr.Discard()) }

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}()

// testEnv is the environment of these tests: a control plane that has only certificates.
type testEnv struct {
	*crashtest.Cluster
	t      testing.TB
	clock  *clocktesting.FakeClock
	events *events.FakeRecorder
	certs  *Certificates
	facts  Facts
	// table is the complete one, or a smaller one for long scenarios.
	table table
	// again is the requeue time of the last reconcile.
	again time.Duration
}

// reachable holds the facts of a control plane with load balancers.
var reachable = Facts{
	API:          target.Host{Name: "api.demo.example.com", Port: 6443},
	Konnectivity: target.Host{Name: "konnectivity.demo.example.com", Port: 443},
}

func newTestEnv(t testing.TB, changes ...func(*hyperv1.HostedControlPlane)) *testEnv {
	w := &testEnv{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)), events: events.NewFakeRecorder(100), facts: reachable, table: fullTable}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme: scheme, Kinds: []client.ObjectList{&hyperv1.HostedControlPlaneList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}},
		WithStatus: []client.Object{&hyperv1.HostedControlPlane{}},
	})
	w.Create(t, controlPlane(changes...))
	w.restart()
	return w
}

func controlPlane(changes ...func(*hyperv1.HostedControlPlane)) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}},
		Spec: hyperv1.HostedControlPlaneSpec{
			InfraID:    "demo-x",
			Networking: hyperv1.ClusterNetworking{ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}}},
		},
	}
	for _, change := range changes {
		change(hcp)
	}
	return hcp
}

// withOwnName sets the user's name of the API server, which adds a kubeconfig.
func withOwnName(hcp *hyperv1.HostedControlPlane) { hcp.Spec.KubeAPIServerDNSName = "k8s.example.com" }

// restart replaces the operator by a new process.
func (w *testEnv) restart() {
	w.certs = New(Options{Client: w.Client(), Reader: w.Client(), Scheme: scheme, Recorder: w.events, Clock: w.clock})
	w.certs.table = w.table
}

// try runs one reconcile and returns its error.
func (w *testEnv) try(ctx context.Context) (writes int, err error) {
	before := w.Calls.Writes()
	hcp := w.hcp(ctx)
	if hcp == nil {
		return 0, nil
	}
	w.again, _, err = w.certs.Ensure(ctx, hcp, w.facts)
	return w.Calls.Writes() - before, err
}

// pass runs one reconcile that must succeed.
func (w *testEnv) pass() (writes int) {
	w.t.Helper()
	writes, err := w.try(w.t.Context())
	w.must(err)
	return writes
}

func (w *testEnv) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{}
	if err := w.Admin().Get(ctx, keyOf("demo"), hcp); err != nil {
		w.must(client.IgnoreNotFound(err))
		return nil
	}
	return hcp
}

func (w *testEnv) change(how func(*hyperv1.HostedControlPlane)) {
	w.t.Helper()
	hcp := w.hcp(w.t.Context())
	how(hcp)
	w.must(w.Admin().Update(w.t.Context(), hcp))
}

// secret returns the content of that name, from its own Secret or from a shared one.
func (w *testEnv) secret(name string) *corev1.Secret {
	w.t.Helper()
	s := w.secrets()[name]
	if s == nil {
		w.t.Fatalf("there is no %s", name)
	}
	return s
}

// secrets returns all certificates and other Secrets by name, without the shared ones.
func (w *testEnv) secrets() map[string]*corev1.Secret {
	w.t.Helper()
	list := &corev1.SecretList{}
	w.must(w.Admin().List(w.t.Context(), list))
	all := map[string]*corev1.Secret{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	certsecret.Expand(all)
	maps.DeleteFunc(all, func(name string, _ *corev1.Secret) bool { return slices.Contains(sharedSecrets, name) })
	return all
}

// bundle returns the trust bundle of that name, from its own ConfigMap or from the shared one; nil if it does not exist.
func (w *testEnv) bundle(name string) []byte {
	w.t.Helper()
	cm := &corev1.ConfigMap{}
	w.must(client.IgnoreNotFound(certsecret.GetBundle(w.t.Context(), w.Admin(), keyOf(name), cm)))
	return []byte(cm.Data[pki.TrustKey])
}

var sharedSecrets = []string{
	certsecret.Authorities, certsecret.KubeAPIServer, certsecret.Etcd, certsecret.ControllerManager, certsecret.Scheduler, certsecret.ControlPlaneOperator,
}

// spoil changes the content of a Secret, or that part of a shared one. Without a function it is deleted.
func (w *testEnv) spoil(name string, how func(map[string][]byte)) {
	w.t.Helper()
	data := w.secret(name).Data
	live := &corev1.Secret{}
	shared := certsecret.SharedBy(name)
	if err := w.Admin().Get(w.t.Context(), keyOf(shared), live); shared == "" || err != nil {
		w.must(w.Admin().Get(w.t.Context(), keyOf(name), live))
		if how == nil {
			w.must(w.Admin().Delete(w.t.Context(), live))
			return
		}
		how(live.Data)
		w.must(w.Admin().Update(w.t.Context(), live))
		return
	}
	for key := range data {
		delete(live.Data, certsecret.Key(name, key))
	}
	if how != nil {
		how(data)
		certsecret.Put(live.Data, name, data)
	}
	w.must(w.Admin().Update(w.t.Context(), live))
}

// earlier gives the control plane an authority in its own Secret, as an earlier version created it.
func (w *testEnv) earlier() {
	w.t.Helper()
	signer, err := pki.NewSigner(names.RootCA, "", w.clock.Now())
	w.must(err)
	data, err := signer.Data()
	w.must(err)
	former := apply.New(w.Admin(), scheme, names.ControlPlaneOperator)
	_, err = former.Apply(w.t.Context(), setOf(w.hcp(w.t.Context()), setAuthorities), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.RootCA}, Data: data,
	})
	w.must(err)
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }

func (w *testEnv) exists(name string) bool {
	w.t.Helper()
	return w.secrets()[name] != nil
}

func (w *testEnv) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

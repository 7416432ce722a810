package hostedapi

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const (
	namespace = "clusters-demo"
	secret    = "demo-x-kubeconfig"
	token     = "a-token-that-nobody-may-read"
)

func init() { ctrl.SetLogger(logr.Discard()) }

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(s))
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	utilruntime.Must(routev1.Install(s))
	return s
}()

// testEnv is the environment of these tests: a control plane with a small fake API server.
type testEnv struct {
	*crashtest.Cluster
	t     testing.TB
	clock *clocktesting.FakeClock
	api   *apiServer

	reconciler *Reconciler
	controller *Controller
	// corrupt are the members of etcd with an alarm.
	corrupt []string
	// next is the requeue time of the controller.
	next time.Duration
}

// apiServer responds like a kube-apiserver.
type apiServer struct {
	*httptest.Server
	code    int
	readyz  string
	version string
	asked   int
}

const (
	allWell  = "[+]ping ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]poststarthook/rbac/bootstrap-roles ok\nreadyz check passed\n"
	noEtcd   = "[+]ping ok\n[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\nreadyz check failed\n"
	starting = "[+]ping ok\n[+]etcd ok\n[+]etcd-readiness ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n"
)

func newAPIServer(t testing.TB) *apiServer {
	a := &apiServer{code: http.StatusOK, readyz: allWell, version: "v1.36.3"}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(a.answer))
	t.Cleanup(a.Close)
	return a
}

func (a *apiServer) answer(w http.ResponseWriter, req *http.Request) {
	a.asked++
	switch {
	case req.Header.Get("Authorization") != "Bearer "+token:
		w.WriteHeader(http.StatusUnauthorized)
	case req.URL.Path == "/version":
		_, _ = fmt.Fprintf(w, `{"gitVersion": %q}`, a.version)
	case req.URL.String() == "/readyz?verbose":
		w.WriteHeader(a.code)
		_, _ = fmt.Fprint(w, a.readyz)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// kubeconfig returns a kubeconfig with valid credentials.
func (a *apiServer) kubeconfig() *clientcmdapi.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	return &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: a.URL, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}
}

func newTestEnv(t testing.TB) *testEnv {
	w := &testEnv{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), api: newAPIServer(t)}
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme: scheme, Kinds: []client.ObjectList{&hyperv1.HostedControlPlaneList{}}, WithStatus: []client.Object{&hyperv1.HostedControlPlane{}},
	})
	w.Create(t, &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}, Spec: hyperv1.HostedControlPlaneSpec{InfraID: "demo-x"},
	})
	w.start()
	return w
}

// deployed is an environment with a running API server.
func deployed(t testing.TB) *testEnv {
	w := newTestEnv(t)
	w.publish(w.api.kubeconfig())
	return w
}

// publish writes the Secrets as the components controller does.
func (w *testEnv) publish(cfg *clientcmdapi.Config) {
	w.t.Helper()
	text, err := clientcmd.Write(*cfg)
	w.must(err)
	w.put(secret, names.ClusterKubeconfigFile, text)
	w.put(names.AdminKubeconfig, names.AdminKubeconfigFile, text)
}

func (w *testEnv) put(name, key string, value []byte) {
	w.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.must(client.IgnoreNotFound(w.Admin().Delete(w.t.Context(), s.DeepCopy())))
	s.Data = map[string][]byte{key: value}
	w.Create(w.t, s)
}

func (w *testEnv) start() func(context.Context) error {
	w.reconciler = newReconciler(Options{Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Client()), Reader: w.Client(), Clock: w.clock, StartInterval: 10 * time.Second, Interval: 30 * time.Second,
		CorruptMembers: func(context.Context, *hyperv1.HostedControlPlane) ([]string, error) { return w.corrupt, nil },
	})
	w.controller = w.reconciler.controller()
	return func(ctx context.Context) error {
		hcp := w.hcp(ctx)
		if hcp == nil {
			return nil
		}
		result, err := w.controller.ReconcileObject(ctx, hcp)
		w.next = result.RequeueAfter
		return w.RecordResult(result, err)
	}
}

// checkPaths starts a controller that checks load balancers.
func (w *testEnv) checkPaths() {
	w.reconciler = newReconciler(Options{Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Client()), Reader: w.Client(), Clock: w.clock, StartInterval: 10 * time.Second, Interval: 30 * time.Second, CheckPaths: true})
	w.controller = w.reconciler.controller()
	w.t.Cleanup(w.reconciler.monitor.stop)
}

// publishAt publishes the API server by a load balancer at an address.
func (w *testEnv) publishAt(at net.Addr) *corev1.Service {
	w.t.Helper()
	tcp := at.(*net.TCPAddr)
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeAPIServer}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ClusterIP: tcp.IP.String(), Ports: []corev1.ServicePort{{Port: int32(tcp.Port)}},
	}}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: tcp.IP.String()}}
	w.Create(w.t, s)
	return s
}

// awaitCheck waits for the trigger of a background check and reconciles.
func (w *testEnv) awaitCheck() {
	w.t.Helper()
	select {
	case <-w.reconciler.changes:
	case <-time.After(time.Minute):
		w.t.Fatal("no check has wakened the controller")
	}
	w.pass()
}

// pass reconciles once, after the requeue time.
func (w *testEnv) pass() {
	w.t.Helper()
	w.clock.Step(w.next)
	result, err := w.controller.ReconcileObject(w.t.Context(), w.hcp(w.t.Context()))
	w.must(err)
	w.next = result.RequeueAfter
}

func (w *testEnv) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{}
	if err := w.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp); err != nil {
		w.must(client.IgnoreNotFound(err))
		return nil
	}
	return hcp
}

func (w *testEnv) status() hyperv1.HostedControlPlaneStatus { return w.hcp(w.t.Context()).Status }

// says returns a condition in one line.
func (w *testEnv) says(condition string) string {
	c := meta.FindStatusCondition(w.status().Conditions, condition)
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (w *testEnv) want(condition, line string) {
	w.t.Helper()
	if got := w.says(condition); got != line {
		w.t.Errorf("%s:\n got %s\nwant %s", condition, got, line)
	}
}

func (w *testEnv) host() string { return w.api.Listener.Addr().String() }

func (w *testEnv) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

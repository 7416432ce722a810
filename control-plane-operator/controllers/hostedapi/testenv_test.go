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
type fakeAPIServer struct {
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

func newFakeAPIServer(t testing.TB) *fakeAPIServer {
	e := &fakeAPIServer{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), api: newAPIServer(t)}
	e.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme: scheme, Kinds: []client.ObjectList{&hyperv1.HostedControlPlaneList{}}, WithStatus: []client.Object{&hyperv1.HostedControlPlane{}},
	})
	e.Create(t, &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}, Spec: hyperv1.HostedControlPlaneSpec{InfraID: "demo-x"},
	})
	e.start()
	return e
}

// deployed is an environment with a running API server.
func deployed(t testing.TB) *fakeAPIServer {
	e := newFakeAPIServer(t)
	e.publish(e.api.kubeconfig())
	return e
}

// publish writes the Secrets as the components controller does.
func (e *fakeAPIServer) publish(cfg *clientcmdapi.Config) {
	e.t.Helper()
	text, err := clientcmd.Write(*cfg)
	e.must(err)
	e.put(secret, names.ClusterKubeconfigFile, text)
	e.put(names.AdminKubeconfig, names.AdminKubeconfigFile, text)
}

func (e *fakeAPIServer) put(name, key string, value []byte) {
	e.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	e.must(client.IgnoreNotFound(e.Admin().Delete(e.t.Context(), s.DeepCopy())))
	s.Data = map[string][]byte{key: value}
	e.Create(e.t, s)
}

func (e *fakeAPIServer) start() func(context.Context) error {
	e.reconciler = newReconciler(Options{Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Reader: e.Client(), Clock: e.clock, StartInterval: 10 * time.Second, Interval: 30 * time.Second,
		CorruptMembers: func(context.Context, *hyperv1.HostedControlPlane) ([]string, error) { return e.corrupt, nil },
	})
	e.controller = e.reconciler.controller()
	return func(ctx context.Context) error {
		hcp := e.hcp(ctx)
		if hcp == nil {
			return nil
		}
		result, err := e.controller.ReconcileObject(ctx, hcp)
		e.next = result.RequeueAfter
		return e.RecordResult(result, err)
	}
}

// checkPaths starts a controller that checks load balancers.
func (e *fakeAPIServer) checkPaths() {
	e.reconciler = newReconciler(Options{Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Reader: e.Client(), Clock: e.clock, StartInterval: 10 * time.Second, Interval: 30 * time.Second, CheckPaths: true})
	e.controller = e.reconciler.controller()
	e.t.Cleanup(e.reconciler.monitor.stop)
}

// publishAt publishes the API server by a load balancer at an address.
func (e *fakeAPIServer) publishAt(at net.Addr) *corev1.Service {
	e.t.Helper()
	tcp := at.(*net.TCPAddr)
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeAPIServer}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ClusterIP: tcp.IP.String(), Ports: []corev1.ServicePort{{Port: int32(tcp.Port)}},
	}}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: tcp.IP.String()}}
	e.Create(e.t, s)
	return s
}

// awaitCheck waits for the trigger of a background check and reconciles.
func (e *fakeAPIServer) awaitCheck() {
	e.t.Helper()
	select {
	case <-e.reconciler.changes:
	case <-time.After(time.Minute):
		e.t.Fatal("no check has wakened the controller")
	}
	e.pass()
}

// pass reconciles once, after the requeue time.
func (e *fakeAPIServer) pass() {
	e.t.Helper()
	e.clock.Step(e.next)
	result, err := e.controller.ReconcileObject(e.t.Context(), e.hcp(e.t.Context()))
	e.must(err)
	e.next = result.RequeueAfter
}

func (e *fakeAPIServer) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{}
	if err := e.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp); err != nil {
		e.must(client.IgnoreNotFound(err))
		return nil
	}
	return hcp
}

func (e *fakeAPIServer) status() hyperv1.HostedControlPlaneStatus { return e.hcp(e.t.Context()).Status }

// says returns a condition in one line.
func (e *fakeAPIServer) says(condition string) string {
	c := meta.FindStatusCondition(e.status().Conditions, condition)
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (e *fakeAPIServer) want(condition, line string) {
	e.t.Helper()
	if got := e.says(condition); got != line {
		e.t.Errorf("%s:\n got %s\nwant %s", condition, got, line)
	}
}

func (e *fakeAPIServer) host() string { return e.api.Listener.Addr().String() }

func (e *fakeAPIServer) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

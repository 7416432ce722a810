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

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	namespace = testenv.Namespace
	secret    = "demo-x-kubeconfig"
	token     = "a-token-that-nobody-may-read"
)

var scheme = testenv.Scheme(appsv1.AddToScheme, routev1.Install)

// fakeAPIServer is a control plane with a small fake API server.
type fakeAPIServer struct {
	*testenv.Env
	api        *apiServer
	reconciler *Reconciler
	// corrupt are the members of etcd with an alarm.
	corrupt []string
	// pathsChecked makes the controller check load balancers.
	pathsChecked bool
}

// apiServer responds like a kube-apiserver.
type apiServer struct {
	*httptest.Server
	code    int
	readyz  string
	version string
	// metrics are served if they are not empty.
	metrics string
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
	case req.URL.Path == "/metrics" && a.metrics != "":
		_, _ = fmt.Fprint(w, a.metrics)
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
	e := &fakeAPIServer{api: newAPIServer(t), Env: testenv.New(t, testenv.WithScheme(scheme), testenv.For(
		&hyperv1.HostedControlPlane{ObjectMeta: testenv.In(namespace, "demo"), Spec: hyperv1.HostedControlPlaneSpec{InfraID: testenv.InfraID}}, &hyperv1.HostedControlPlaneList{},
	))}
	e.Start = e.start
	e.Restart()
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
	e.T.Helper()
	text, err := clientcmd.Write(*cfg)
	e.Must(err)
	e.Put(testenv.Secret(secret, names.ClusterKubeconfigFile, string(text)), testenv.Secret(names.AdminKubeconfig, names.AdminKubeconfigFile, string(text)))
}

func (e *fakeAPIServer) start() testenv.Pass {
	e.reconciler = newReconciler(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Reader: e.Client(), Clock: e.Clock,
		StartInterval: 10 * time.Second, Interval: 30 * time.Second, CheckPaths: e.pathsChecked,
		CorruptMembers: func(context.Context, *hyperv1.HostedControlPlane) ([]string, error) { return e.corrupt, nil },
	})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, e.reconciler.controller().ReconcileObject)
}

// checkPaths starts a controller that checks load balancers.
func (e *fakeAPIServer) checkPaths() {
	e.pathsChecked = true
	e.Restart()
	e.T.Cleanup(e.reconciler.monitor.stop)
}

// publishAt publishes the API server by a load balancer at an address.
func (e *fakeAPIServer) publishAt(at net.Addr) *corev1.Service {
	e.T.Helper()
	tcp := at.(*net.TCPAddr)
	s := &corev1.Service{ObjectMeta: testenv.In(namespace, names.KubeAPIServer), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ClusterIP: tcp.IP.String(), Ports: []corev1.ServicePort{{Port: int32(tcp.Port)}},
	}}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: tcp.IP.String()}}
	e.Create(s)
	return s
}

// awaitCheck waits for the trigger of a background check and reconciles.
func (e *fakeAPIServer) awaitCheck() {
	e.T.Helper()
	select {
	case <-e.reconciler.changes:
	case <-time.After(time.Minute):
		e.T.Fatal("no check has wakened the controller")
	}
	e.Later()
}

func (e *fakeAPIServer) status() hyperv1.HostedControlPlaneStatus { return e.HCP().Status }

func (e *fakeAPIServer) host() string { return e.api.Listener.Addr().String() }

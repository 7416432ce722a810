package accessapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/kubescheme"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// reviewer is the authorizer of the management cluster: alice may do everything in team-a, and bob may view there.
type reviewer struct {
	authorizationclient.SubjectAccessReviewInterface
	asked []authorizationv1.SubjectAccessReviewSpec
}

func (r *reviewer) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	r.asked = append(r.asked, review.Spec)
	a := review.Spec.ResourceAttributes
	ours := a != nil && a.Group == accessv1alpha1.GroupVersion.Group && a.Resource == accessv1alpha1.Resource && a.Verb == "create" && a.Namespace == "team-a"
	isAdmin := review.Spec.User == "alice" || slices.Contains(review.Spec.Groups, "team-a-admins")
	isViewer := review.Spec.User == "bob" && a.Subresource != string(accessv1alpha1.AdminKubeconfig)
	review.Status.Allowed = ours && (isAdmin || isViewer)
	return review, nil
}

// aggregatedServer is a Server with the clusters team-a/demo and team-b/other. An API server with a front proxy certificate calls it.
type aggregatedServer struct {
	*Server
	*testenv.Env
	server   *httptest.Server
	reviews  *reviewer
	api      net.Listener // the hosted API server of every cluster: it echoes
	proxies  *pki.Signer
	clients  map[client.ObjectKey]*pki.Signer
	clusters []client.ObjectKey
}

var scheme = testenv.Scheme(kubescheme.AddToScheme)

func newAggregatedServer(t testing.TB) *aggregatedServer {
	t.Helper()
	e := &aggregatedServer{
		Env: testenv.New(t, testenv.WithScheme(scheme)), reviews: &reviewer{}, clients: map[client.ObjectKey]*pki.Signer{},
		clusters: []client.ObjectKey{{Namespace: "team-a", Name: "demo"}, {Namespace: "team-b", Name: "other"}},
	}
	e.proxies = e.signer("front-proxy-ca")
	announced := &unstructured.Unstructured{}
	announced.SetGroupVersionKind(apiService)
	announced.SetName(apiServiceName)
	e.Create(announced, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: frontProxyConfig.Namespace, Name: frontProxyConfig.Name},
		Data: map[string]string{
			"requestheader-client-ca-file": string(e.proxies.Trust()), "requestheader-allowed-names": `["front-proxy-client"]`,
			"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		},
	})
	for _, key := range e.clusters {
		e.Create(e.cluster(key)...)
	}
	c := e.Admin()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	e.Must(err)
	e.api = listener
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	e.Server = New(Options{
		Client: c, Reader: c, Access: e.reviews, Clock: clock.RealClock{}, Namespace: "hypershift",
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, listener.Addr().String())
		},
	})
	e.Must(e.proxy.load(t.Context(), c))
	e.Must(e.certificate.ensure(t.Context()))
	e.server = httptest.NewUnstartedServer(e.handler())
	e.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: e.certificate.get, ClientAuth: tls.RequestClientCert, NextProtos: []string{"http/1.1"}}
	// StartTLS would add a certificate of its own, which goes before GetCertificate.
	e.server.Listener = tls.NewListener(e.server.Listener, e.server.TLS)
	e.server.Start()
	t.Cleanup(e.server.Close)
	return e
}

func (e *aggregatedServer) signer(name string) *pki.Signer {
	e.T.Helper()
	signer, err := pki.NewSigner(name, "", time.Now())
	e.Must(err)
	return signer
}

// cluster returns a HostedCluster and the objects of its control plane.
func (e *aggregatedServer) cluster(key client.ObjectKey) []client.Object {
	e.T.Helper()
	signer := e.signer(names.ClientSigner)
	e.clients[key] = signer
	data, err := signer.Data()
	e.Must(err)
	admin, err := signer.Current.Issue(pki.Request{User: names.AdminUser, Groups: []string{names.AdminGroup}, Usage: pki.Client}, pki.DefaultTerms, time.Now())
	e.Must(err)
	kubeconfig, err := pki.Kubeconfig("https://api."+key.Name+".example.com:6443", e.proxies.Trust(), admin)
	e.Must(err)
	named := func(name string) metav1.ObjectMeta {
		return testenv.In(names.ControlPlaneNamespace(key.Namespace, key.Name), name)
	}
	return []client.Object{
		&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID("uid-" + key.Name)}},
		&corev1.Secret{ObjectMeta: named(names.ClientSigner), Data: data},
		&corev1.Secret{ObjectMeta: named(names.AdminKubeconfig), Data: map[string][]byte{names.AdminKubeconfigFile: kubeconfig}},
		&corev1.Service{ObjectMeta: named(names.KubeAPIServer), Spec: corev1.ServiceSpec{ClusterIP: "172.30.0.1"}},
	}
}

// front returns the transport of the API server: a certificate of this signer and name. Without a signer, it has none.
func (e *aggregatedServer) front(signer *pki.Signer, name string) *http.Transport {
	e.T.Helper()
	data, err := e.certificate.issuer.Ensure(e.T.Context())
	e.Must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data[pki.TrustKey])
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: ServiceName + ".hypershift.svc"}
	if signer != nil {
		leaf, err := signer.Current.Issue(pki.Request{User: name, Usage: pki.Client}, pki.DefaultTerms, time.Now())
		e.Must(err)
		pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
		e.Must(err)
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config}
	e.T.Cleanup(transport.CloseIdleConnections)
	return transport
}

// call makes a request as the API server does for a user.
func (e *aggregatedServer) call(transport http.RoundTripper, user, method, path, body string, header http.Header) (int, []byte) {
	e.T.Helper()
	// The URL of the test server contains an address, and the certificate a name.
	r, err := http.NewRequestWithContext(e.T.Context(), method, strings.Replace(e.server.URL, "http://", "https://", 1)+path, strings.NewReader(body))
	e.Must(err)
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if user != "" {
		r.Header.Set("X-Remote-User", user)
	}
	response, err := transport.RoundTrip(r)
	e.Must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	e.Must(err)
	return response.StatusCode, text
}

// request requests a kubeconfig.
func (e *aggregatedServer) request(user, namespace, name string, subresource accessv1alpha1.Subresource, body string) (int, *accessv1alpha1.KubeconfigRequest, string) {
	e.T.Helper()
	code, text := e.call(e.front(e.proxies, "front-proxy-client"), user, http.MethodPost, accessv1alpha1.Path(namespace, name, subresource), body, nil)
	answer := &accessv1alpha1.KubeconfigRequest{}
	if code == http.StatusCreated { // otherwise it is a Status
		e.Must(json.Unmarshal(text, answer))
	}
	return code, answer, string(text)
}

// tls are the settings of a client that is the front proxy.
func (e *aggregatedServer) tls() rest.TLSClientConfig {
	e.T.Helper()
	data, err := e.certificate.issuer.Ensure(e.T.Context())
	e.Must(err)
	leaf, err := e.proxies.Current.Issue(pki.Request{User: "front-proxy-client", Usage: pki.Client}, pki.DefaultTerms, time.Now())
	e.Must(err)
	return rest.TLSClientConfig{CAData: data[pki.TrustKey], CertData: leaf.CertPEM, KeyData: leaf.KeyPEM, ServerName: ServiceName + ".hypershift.svc"}
}

// config reads the ConfigMap of the front proxy.
func (e *aggregatedServer) config() *corev1.ConfigMap {
	return testenv.Read(e.Env, &corev1.ConfigMap{ObjectMeta: testenv.In(frontProxyConfig.Namespace, frontProxyConfig.Name)})
}

func (e *aggregatedServer) apiService() *unstructured.Unstructured {
	e.T.Helper()
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(apiService)
	service.SetName(apiServiceName)
	e.Get(service)
	return service
}

// announced is the authority in the APIService.
func (e *aggregatedServer) announced() string {
	e.T.Helper()
	authority, _, err := unstructured.NestedString(e.apiService().Object, "spec", "caBundle")
	e.Must(err)
	return authority
}

func (e *aggregatedServer) announce(authority string) {
	e.T.Helper()
	service := e.apiService()
	e.Must(unstructured.SetNestedField(service.Object, authority, "spec", "caBundle"))
	e.Update(service)
}

// recorded returns the events of a namespace, the oldest first.
func (e *aggregatedServer) recorded(namespace string) []eventsv1.Event {
	e.T.Helper()
	list := testenv.Listed(e.Env, &eventsv1.EventList{}, client.InNamespace(namespace))
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return list.Items
}

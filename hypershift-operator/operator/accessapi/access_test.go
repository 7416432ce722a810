package accessapi

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/portforward"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestKubeconfigsAreForTheUserAndExpire(t *testing.T) {
	e := newAggregatedServer(t)
	for i, c := range []struct {
		user        string
		subresource accessv1alpha1.Subresource
		body, group string
		validity    time.Duration
	}{
		{"alice", accessv1alpha1.AdminKubeconfig, "", names.AdminGroup, time.Hour},
		{"alice", accessv1alpha1.ViewerKubeconfig, `{"spec":{"expirationSeconds":600}}`, names.ViewerGroup, 10 * time.Minute},
		{"bob", accessv1alpha1.ViewerKubeconfig, `{"spec":{"expirationSeconds":86400}}`, names.ViewerGroup, 24 * time.Hour},
	} {
		code, answer, text := e.request(c.user, "team-a", "demo", c.subresource, c.body)
		if code != http.StatusCreated {
			t.Fatalf("%s asks for %s: %d %s", c.user, c.subresource, code, text)
		}
		config, err := clientcmd.Load(answer.Status.Kubeconfig)
		e.Must(err)
		certificate := certificateOf(t, pki.CertificateIn(answer.Status.Kubeconfig)["tls.crt"])
		cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
		if cluster.Server != "https://api.demo.example.com:6443" || !bytes.Equal(cluster.CertificateAuthorityData, e.proxies.Trust()) {
			t.Errorf("the kubeconfig is for %s", cluster.Server)
		}
		if certificate.Subject.CommonName != "management:"+c.user || !slices.Equal(certificate.Subject.Organization, []string{c.group}) {
			t.Errorf("the certificate is made out to %s", certificate.Subject)
		}
		if left := time.Until(certificate.NotAfter); left > c.validity || left < c.validity-time.Minute || !answer.Status.ExpirationTimestamp.Time.Equal(certificate.NotAfter) {
			t.Errorf("the certificate is valid for %s, want %s; the answer has %s", left, c.validity, answer.Status.ExpirationTimestamp)
		}
		if err := certificate.CheckSignatureFrom(e.clients[e.clusters[0]].Current.Certificate); err != nil {
			t.Errorf("the hosted cluster does not trust it: %v", err)
		}
		all := e.recorded("team-a") // before the answer, each as an event of its own
		if event := all[len(all)-1]; len(all) != i+1 || !strings.HasPrefix(event.Note, "User "+c.user+" has got a kubeconfig of group "+c.group) ||
			event.Regarding.Kind != "HostedCluster" || event.Regarding.Name != "demo" || event.Regarding.UID != "uid-demo" {
			t.Errorf("%d events, the last one is %+v", len(all), event)
		}
	}
}

func certificateOf(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestUsersGetOnlyWhatTheirNamespaceGrants(t *testing.T) {
	e := newAggregatedServer(t)
	for name, c := range map[string]struct {
		user, namespace, cluster string
		subresource              accessv1alpha1.Subresource
		want                     int
	}{
		"a viewer asks for an administrator's kubeconfig": {"bob", "team-a", "demo", accessv1alpha1.AdminKubeconfig, http.StatusForbidden},
		"a user asks for a neighbour's cluster":           {"alice", "team-b", "other", accessv1alpha1.ViewerKubeconfig, http.StatusForbidden},
		"a user guesses names of a neighbour":             {"alice", "team-b", "none", accessv1alpha1.ViewerKubeconfig, http.StatusForbidden},
		"a stranger":                                      {"mallory", "team-a", "demo", accessv1alpha1.ViewerKubeconfig, http.StatusForbidden},
		"a cluster that does not exist":                   {"alice", "team-a", "none", accessv1alpha1.AdminKubeconfig, http.StatusNotFound},
		"a path in the name":                              {"alice", "team-a", "../../team-b/hostedclusters/other", accessv1alpha1.AdminKubeconfig, http.StatusBadRequest},
	} {
		code, answer, text := e.request(c.user, c.namespace, c.cluster, c.subresource, "")
		if code != c.want || len(answer.Status.Kubeconfig) > 0 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if all := append(e.recorded("team-a"), e.recorded("team-b")...); len(all) > 0 {
		t.Errorf("events: %+v", all)
	}
}

// Whoever reaches the port of the operator could otherwise name any user.
func TestOnlyTheFrontProxyNamesUsers(t *testing.T) {
	e := newAggregatedServer(t)
	path := accessv1alpha1.Path("team-a", "demo", accessv1alpha1.AdminKubeconfig)
	for name, transport := range map[string]http.RoundTripper{
		"a client without a certificate":                e.front(nil, ""),
		"a client of another authority":                 e.front(e.signer("front-proxy-ca"), "front-proxy-client"),
		"a client of the authority, with another name":  e.front(e.proxies, "kubelet"),
		"a client of the hosted cluster":                e.front(e.clients[e.clusters[0]], "front-proxy-client"),
		"a client with the certificate of the operator": e.front(nil, ServiceName),
	} {
		for _, at := range []string{path, "/apis/" + accessv1alpha1.GroupVersion.String()} {
			method := http.MethodPost
			if at != path {
				method = http.MethodGet
			}
			if code, text := e.call(transport, "alice", method, at, "", nil); code != http.StatusUnauthorized {
				t.Errorf("%s: %s: %d %s", name, at, code, text)
			}
		}
	}
	if code, text := e.call(e.front(e.proxies, "front-proxy-client"), "", http.MethodPost, path, "", nil); code != http.StatusUnauthorized {
		t.Errorf("a request without a user: %d %s", code, text)
	}
	if len(e.reviews.asked) > 0 {
		t.Errorf("permissions were reviewed for %+v", e.reviews.asked)
	}
}

func TestGroupsAndExtraOfTheUserAreReviewed(t *testing.T) {
	e := newAggregatedServer(t)
	header := http.Header{"X-Remote-Group": {"team-a-admins", "system:authenticated"}, "X-Remote-Extra-Example.com%2fscopes": {"a", "b"}}
	code, text := e.call(e.front(e.proxies, "front-proxy-client"), "carol", http.MethodPost, accessv1alpha1.Path("team-a", "demo", accessv1alpha1.AdminKubeconfig), "", header)
	if code != http.StatusCreated {
		t.Fatalf("%d %s", code, text)
	}
	asked := e.reviews.asked[0]
	if !slices.Equal(asked.Groups, header["X-Remote-Group"]) || !slices.Equal(asked.Extra["example.com/scopes"], []string{"a", "b"}) {
		t.Errorf("the review has groups %v and extra %v", asked.Groups, asked.Extra)
	}
}

func TestInvalidRequestsNameTheCorrection(t *testing.T) {
	e := newAggregatedServer(t)
	for body, want := range map[string]string{
		`{"spec":{"expirationSeconds":599}}`:   "spec.expirationSeconds is 599: use a value from 600 to 86400",
		`{"spec":{"expirationSeconds":86401}}`: "use a value from 600 to 86400",
		`{"spec":{"expirationSeconds":-1}}`:    "use a value from 600 to 86400",
		`{"spec":[]}`:                          "the body is no KubeconfigRequest",
		strings.Repeat(" ", maxBody+1):         "the body is no KubeconfigRequest",
	} {
		if code, _, text := e.request("alice", "team-a", "demo", accessv1alpha1.AdminKubeconfig, body); code != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%.40s: %d %s", body, code, text)
		}
	}
}

func TestClusterWithoutAKubeconfigIsUnavailable(t *testing.T) {
	e := newAggregatedServer(t)
	e.Create(&hyperv1.HostedCluster{ObjectMeta: testenv.In("team-a", "new")})
	if code, _, text := e.request("alice", "team-a", "new", accessv1alpha1.AdminKubeconfig, ""); code != http.StatusServiceUnavailable || !strings.Contains(text, "no kubeconfig yet") {
		t.Errorf("%d %s", code, text)
	}
	if _, err := e.tunnel("alice", client.ObjectKey{Namespace: "team-a", Name: "new"}); err == nil || !strings.Contains(err.Error(), "has no Service yet") {
		t.Errorf("a tunnel: %v", err)
	}
}

func TestTunnelsForwardAndAreLimited(t *testing.T) {
	e := newAggregatedServer(t)
	for i := range 3 {
		conn, err := e.tunnel("bob", e.clusters[0])
		e.Must(err)
		sent := bytes.Repeat(fmt.Appendf(nil, "tunnel %d ", i), 100_000)
		go func() { _, _ = conn.Write(sent) }()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("tunnel %d: %v", i, err)
		}
		conn.Close()
	}
	if _, err := e.tunnel("alice", e.clusters[1]); err == nil || !strings.Contains(err.Error(), "may not create it") {
		t.Errorf("a tunnel to a neighbour's cluster: %v", err)
	}
	for range maxTunnelsOfCluster {
		conn, err := e.tunnel("alice", e.clusters[0])
		e.Must(err)
		defer conn.Close()
	}
	if _, err := e.tunnel("alice", e.clusters[0]); err == nil || !strings.Contains(err.Error(), "too many tunnels") {
		t.Errorf("one tunnel more than the limit: %v", err)
	}
	e.tunnels.mu.Lock()
	defer e.tunnels.mu.Unlock()
	if e.tunnels.all != maxTunnelsOfCluster {
		t.Errorf("%d tunnels are counted, want %d", e.tunnels.all, maxTunnelsOfCluster)
	}
}

// A rotation of the front proxy's authority takes effect without a restart, and an error keeps the rules.
func TestFrontProxyRulesFollowTheConfigMap(t *testing.T) {
	e := newAggregatedServer(t)
	former, next := e.front(e.proxies, "front-proxy-client"), e.signer("front-proxy-ca-2")
	config := e.config()
	config.Data["requestheader-client-ca-file"] = "nothing"
	e.Update(config)
	if err := e.proxy.load(t.Context(), e.Reader); err == nil {
		t.Error("a bundle without certificates is accepted")
	}
	path := "/apis/" + accessv1alpha1.GroupVersion.String()
	if code, text := e.call(former, "alice", http.MethodGet, path, "", nil); code != http.StatusOK {
		t.Errorf("after an error: %d %s", code, text)
	}
	config.Data["requestheader-client-ca-file"] = string(next.Trust())
	e.Update(config)
	e.Must(e.proxy.load(t.Context(), e.Reader))
	if code, _ := e.call(former, "alice", http.MethodGet, path, "", nil); code != http.StatusUnauthorized {
		t.Errorf("the former authority: %d", code)
	}
	if code, text := e.call(e.front(next, "front-proxy-client"), "alice", http.MethodGet, path, "", nil); code != http.StatusOK || !strings.Contains(string(text), "hostedclusters/adminkubeconfig") {
		t.Errorf("the next authority: %d %s", code, text)
	}
}

// An administrator or a tool may replace the APIService.
func TestTheAuthorityIsPublishedAgain(t *testing.T) {
	e := newAggregatedServer(t)
	first := e.announced()
	if first == "" {
		t.Fatal("the APIService has no authority")
	}
	e.announce("")
	e.Must(e.certificate.ensure(t.Context()))
	if again := e.announced(); again != first {
		t.Errorf("the APIService has %q", again)
	}
}

// tunnel dials as the command line does, through an API server that is the front proxy.
func (e *aggregatedServer) tunnel(user string, hc client.ObjectKey) (interface {
	io.ReadWriteCloser
}, error,
) {
	config := &rest.Config{Host: strings.Replace(e.server.URL, "http://", "https://", 1), TLSClientConfig: e.tls()}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("X-Remote-User", user)
			return next.RoundTrip(r)
		})
	})
	return portforward.DialPath(e.T.Context(), config, accessv1alpha1.Path(hc.Namespace, hc.Name, accessv1alpha1.Tunnel), apiPort)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A client that begins a body and stays silent must not keep a goroutine and a connection.
func TestSilentBodyIsGivenUp(t *testing.T) {
	e := newAggregatedServer(t)
	silent, writer := io.Pipe()
	defer func() { _ = writer.Close() }() // never fails
	ctx, cancel := context.WithTimeout(t.Context(), 4*bodyTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		strings.Replace(e.server.URL, "http://", "https://", 1)+accessv1alpha1.Path("team-a", "demo", accessv1alpha1.AdminKubeconfig), silent)
	e.Must(err)
	r.ContentLength = 100
	r.Header.Set("X-Remote-User", "alice")
	response, err := e.front(e.proxies, "front-proxy-client").RoundTrip(r)
	if err == nil {
		defer response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("a silent body: %s", response.Status)
		}
	}
	if ctx.Err() != nil {
		t.Errorf("the server still waits after %s", 4*bodyTimeout)
	}
}

// Recorders combine the events of an object: the kubeconfig of a second user would be in none.
func TestAnAPIServerStoresAnEventForEachKubeconfig(t *testing.T) {
	config := fixture.StartAPIServer(t, "../../../config/crd")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kubescheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Client: c, Reader: c, Clock: clock.RealClock{}})
	cluster := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", UID: "uid-demo"}}
	users := []string{"alice", "bob", strings.Repeat("long", 400)}
	for _, name := range users {
		r := &request{user: authenticationv1.UserInfo{Username: name}, subresource: accessv1alpha1.ViewerKubeconfig, cluster: cluster}
		if err := s.record(t.Context(), r, "2026-01-02T03:04:05Z"); err != nil {
			t.Errorf("%.10s: %v", name, err)
		}
	}
	list := &eventsv1.EventList{}
	if err := c.List(t.Context(), list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	// An API server records events about its own Service in the same namespace.
	issued := slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != cluster.UID })
	if len(issued) != len(users) {
		t.Errorf("%d events, want %d: %+v", len(issued), len(users), issued)
	}
}

func TestAKubeconfigThatCannotBeRecordedIsNotIssued(t *testing.T) {
	e := newAggregatedServer(t)
	e.Server.Client = interceptor.NewClient(e.Admin().(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if _, event := obj.(*eventsv1.Event); event {
				return apierrors.NewForbidden(eventsv1.Resource("events"), "", errors.New("refused"))
			}
			return c.Create(ctx, obj, opts...)
		},
	})
	code, answer, text := e.request("alice", "team-a", "demo", accessv1alpha1.AdminKubeconfig, "")
	if code < http.StatusBadRequest || len(answer.Status.Kubeconfig) > 0 {
		t.Errorf("%d %s", code, text)
	}
}

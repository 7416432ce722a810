package signingkeys

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/apiservers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

// realServers are API servers with one etcd.
type realServers struct {
	*testing.T
	etcd          *envtest.Etcd
	root, clients *pki.Signer
}

// A realServer is one of them.
type realServer struct {
	*realServers
	host    string
	process *process.Process
}

func (r *realServers) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func startRealServers(t *testing.T) *realServers {
	r := &realServers{T: t}
	var err error
	r.root, err = pki.NewSigner(names.RootCA, "", time.Now())
	r.must(err)
	r.clients, err = pki.NewSigner(names.ClientSigner, "", time.Now())
	r.must(err)
	r.etcd = &envtest.Etcd{Path: filepath.Join(fixture.Assets(t), "etcd"), DataDir: t.TempDir(), StartTimeout: time.Minute}
	r.etcd.Configure().Set("unsafe-no-fsync", "true")
	r.must(r.etcd.Start())
	t.Cleanup(func() { r.must(r.etcd.Stop()) })
	return r
}

// start starts an API server with the files of a Secret, and with the flags of the component.
func (r *realServers) start(keys *signingkeys.State) *realServer {
	r.Helper()
	dir := r.TempDir()
	serving, err := r.root.Current.Issue(pki.Request{User: "kube-apiserver", Usage: pki.Server, Hosts: []string{"localhost"}}, pki.DefaultTerms, time.Now())
	r.must(err)
	data := keys.Data()
	for name, content := range map[string][]byte{
		"tls.crt": serving.CertPEM, "tls.key": serving.KeyPEM, "clients.crt": r.clients.Trust(),
		names.ServiceAccountPrivateKeyFile: data[names.ServiceAccountPrivateKeyFile], names.ServiceAccountPublicKeyFile: data[names.ServiceAccountPublicKeyFile],
	} {
		r.must(os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	port, err := process.FreePort()
	r.must(err)
	s := &realServer{realServers: r, host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	s.process, err = process.Start(process.Spec{
		Name: "kube-apiserver", Path: filepath.Join(fixture.Assets(r.T), "kube-apiserver"), Log: filepath.Join(dir, "log"),
		Args: []string{
			"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port), "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
			"--etcd-servers=" + r.etcd.URL.String(), "--service-cluster-ip-range=172.31.0.0/16",
			"--tls-cert-file=" + filepath.Join(dir, "tls.crt"), "--tls-private-key-file=" + filepath.Join(dir, "tls.key"), "--client-ca-file=" + filepath.Join(dir, "clients.crt"),
			"--authorization-mode=Node,RBAC", "--disable-admission-plugins=ServiceAccount",
			"--service-account-issuer=https://example.com", "--service-account-jwks-uri=https://example.com/openid/v1/jwks",
			"--service-account-key-file=" + filepath.Join(dir, names.ServiceAccountPublicKeyFile), "--service-account-signing-key-file=" + filepath.Join(dir, names.ServiceAccountPrivateKeyFile),
			"--service-account-max-token-expiration=8760h",
		},
	})
	r.must(err)
	r.Cleanup(func() { s.process.Stop(10 * time.Second) })
	transport, err := rest.TransportFor(s.as("test", names.SuperuserGroup))
	r.must(err)
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	r.must(s.process.Ready(ctx, &http.Client{Transport: transport}, "https://"+s.host+"/readyz"))
	return s
}

// as returns a client with a certificate, or without one.
func (s *realServer) as(user string, groups ...string) *rest.Config {
	s.Helper()
	config := &rest.Config{Host: "https://" + s.host, QPS: -1, WarningHandler: rest.NoWarnings{}, TLSClientConfig: rest.TLSClientConfig{CAData: s.root.Trust(), ServerName: "localhost"}}
	if user == "" {
		return config
	}
	leaf, err := s.clients.Current.Issue(pki.Request{User: user, Groups: groups, Usage: pki.Client}, pki.DefaultTerms, time.Now())
	s.must(err)
	config.CertData, config.KeyData = leaf.CertPEM, leaf.KeyPEM
	return config
}

func (s *realServer) admin() kubernetes.Interface {
	s.Helper()
	c, err := kubernetes.NewForConfig(s.as("test", names.SuperuserGroup))
	s.must(err)
	return c
}

// connect is what the control-plane-operator finds out.
func (s *realServer) connect() (Loaded, error) {
	return connect(s.Context(), s.as(names.ControlPlaneOperatorUser, names.ControlPlaneOperatorGroup), apiservers.Server{Pod: "a", Address: s.host, Name: "localhost"})
}

func (s *realServer) expectLoaded(keys *signingkeys.State) {
	s.Helper()
	loaded, err := s.connect()
	s.must(err)
	want, err := webidentity.KeyIDs(keys.PublicKeys())
	s.must(err)
	if !slices.Equal(loaded.Accepts, want) || loaded.Signs != keys.Signing.ID {
		s.Errorf("loaded is %+v, want %v, signed with %s", loaded, want, keys.Signing.ID)
	}
}

func (s *realServer) token() string {
	s.Helper()
	request, err := s.admin().CoreV1().ServiceAccounts("default").CreateToken(s.Context(), "user", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}, metav1.CreateOptions{})
	s.must(err)
	return request.Status.Token
}

func (s *realServer) accepts(token string) bool {
	s.Helper()
	config := s.as("")
	config.BearerToken = token
	c, err := client.New(config, client.Options{})
	s.must(err)
	review := &authenticationv1.SelfSubjectReview{}
	err = c.Create(s.Context(), review)
	if apierrors.IsUnauthorized(err) {
		return false
	}
	s.must(err)
	return review.Status.UserInfo.Username == "system:serviceaccount:default:user"
}

// API servers that have loaded the Secrets of two neighbouring stages accept each other's tokens. They refuse tokens of a key after its
// retirement only.
func TestAPIServersAcceptTokensOfEachStage(t *testing.T) {
	r := startRealServers(t)
	facts := signingkeys.Facts{Now: time.Now(), TokenLife: signingkeys.MaxTokenLife, Requested: "1", Generate: func() (signingkeys.Key, error) { return newKey(t), nil }}
	state := signingkeys.New(newKey(t), signingkeys.Facts{TokenLife: signingkeys.MaxTokenLife})
	next := func() {
		t.Helper()
		for {
			facts.Now = facts.Now.Add(time.Second)
			facts.Loaded, facts.Stored = true, true
			following, step, err := signingkeys.Next(state, facts)
			if err != nil || step == nil {
				t.Fatalf("no step from %+v, %v", state, err)
			}
			changed := following.Revision() != state.Revision()
			state = following
			if changed {
				return
			}
		}
	}
	server := r.start(state)
	for _, namespace := range []string{"default", checkNamespace} {
		_, err := server.admin().CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: map[string]string{"default": "user", checkNamespace: checkAccount}[namespace]}}, metav1.CreateOptions{})
		r.must(err)
	}
	if _, err := server.connect(); err == nil || !strings.Contains(err.Error(), `403 Forbidden: forbidden: User "system:control-plane-operator" cannot get path`) {
		t.Errorf("without permissions: %v", err)
	}
	permissions, err := os.ReadFile("../../hostedcluster/objects/assets/permissions.yaml")
	r.must(err)
	r.must(fixture.Apply(t.Context(), server.as("test", names.SuperuserGroup), string(permissions)))
	server.expectLoaded(state)

	old := server.token()
	var tokens []string
	for _, stage := range []string{"Publish", "Switch"} {
		next()
		if string(state.Stage()) != stage {
			t.Fatalf("the stage is %s, want %s", state.Stage(), stage)
		}
		replaced := server
		server = r.start(state)
		server.expectLoaded(state)
		tokens = append(tokens, replaced.token(), server.token())
		for i, token := range append([]string{old}, tokens...) {
			if !replaced.accepts(token) || !server.accepts(token) {
				t.Errorf("stage %s: token %d is refused", stage, i)
			}
		}
		replaced.process.Stop(10 * time.Second)
	}
	first, second := webidentity.KeyIDOf([]byte(old)), state.Signing.ID
	if last := tokens[len(tokens)-1]; webidentity.KeyIDOf([]byte(last)) != second || first == second {
		t.Errorf("the last token is signed with %s", webidentity.KeyIDOf([]byte(last)))
	}
	facts.Retire = first
	next()
	server = r.start(state)
	server.expectLoaded(state)
	refused := 0
	for i, token := range append([]string{old}, tokens...) {
		switch accepted := server.accepts(token); {
		case accepted != (webidentity.KeyIDOf([]byte(token)) == second):
			t.Errorf("token %d of key %s: accepted is %v", i, webidentity.KeyIDOf([]byte(token)), accepted)
		case !accepted:
			refused++
		}
	}
	if refused == 0 || refused > len(tokens) {
		t.Errorf("%d tokens are refused", refused)
	}
}

// Other answers show neither that a key is loaded nor that it is not.
func TestUnclearAnswersAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		body string
		want string
	}{
		"overloaded":  {http.StatusTooManyRequests, "", "429"},
		"broken":      {http.StatusInternalServerError, "", "500"},
		"not JSON":    {http.StatusOK, "<html>", "cannot be read"},
		"forbidden":   {http.StatusForbidden, "{}", "403"},
		"a webhook":   {http.StatusForbidden, `{"message":"denied\nby ` + strings.Repeat("x", 1000) + `"}`, "403 Forbidden: denied by xxx"},
		"no token":    {http.StatusOK, `{"keys":[{"kid":"a"}]}`, ""},
		"a bad token": {http.StatusOK, `{"keys":[{"kid":"a"}],"status":{"token":"secret"}}`, ""},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.code)
			_, _ = w.Write([]byte(c.body)) // the client may be gone
		}))
		config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: pki.Bundle(server.Certificate())}}
		loaded, err := connect(t.Context(), config, apiservers.Server{Address: server.Listener.Addr().String(), Name: "example.com"})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || loaded.Signs != "" {
			t.Errorf("%s: %+v, %v", name, loaded, err)
		}
		server.Close()
		if _, err := connect(t.Context(), config, apiservers.Server{Address: server.Listener.Addr().String(), Name: "example.com"}); err == nil || errors.Unwrap(err) == nil && !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: no server: %v", name, err)
		}
	}
}

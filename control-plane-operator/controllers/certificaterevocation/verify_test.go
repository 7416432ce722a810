package certificaterevocation

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/apiservers"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// patience is longer than an API server needs to read a file again.
const patience = 2 * time.Minute

// A kube-apiserver reads the bundle again without a restart, and its answers show which authorities it has.
func TestAnAPIServerFollowsTheBundle(t *testing.T) {
	config, clientCA := fixture.StartAPIServerWithClientCA(t)
	own, err := os.ReadFile(clientCA)
	if err != nil {
		t.Fatal(err)
	}
	server := serverOf(t, config)
	signer, err := pki.NewSigner("customer-system-admin-signer", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	former := checkLeaf(t, signer.Current)
	revoke := func(trusted bool, want pki.Turn) {
		t.Helper()
		if turn, err := signer.Revoke("customer-system-admin-signer", "1", trusted, time.Now()); err != nil || turn != want {
			t.Fatalf("%s, %v; want %s", turn, err, want)
		}
		if err := os.WriteFile(clientCA, append(own[:len(own):len(own)], signer.Trust()...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := accepts(t.Context(), server, former); ok || err != nil {
		t.Fatalf("a certificate of an unknown authority: %v, %v", ok, err)
	}
	revoke(false, pki.Introduced)
	next := checkLeaf(t, signer.Next)
	await(t, server, next, true)
	await(t, server, former, true)
	revoke(true, pki.Switched)
	await(t, server, next, true)
	revoke(true, pki.Finished)
	await(t, server, former, false)
	await(t, server, next, true)

	// An administrator may remove the permission of all users to ask who they are.
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{}
	binding.Name = "system:basic-user"
	if err := c.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	await(t, server, next, true)
	await(t, server, former, false)
}

func serverOf(t *testing.T, config *rest.Config) Server {
	t.Helper()
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	if address.Host == "" {
		address.Host = config.Host
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(config.CAData)
	return Server{Server: apiservers.Server{Pod: "kube-apiserver", Address: address.Host, Name: "localhost"}, Trust: trust}
}

func checkLeaf(t *testing.T, by *pki.Authority) *pki.Leaf {
	t.Helper()
	leaf, err := by.Issue(pki.Request{User: checkUser, Usage: pki.Client}, pki.Terms{Validity: checkLife}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// await polls, because nothing reports that the API server has read its file.
func await(t *testing.T, server Server, leaf *pki.Leaf, want bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		ok, err := accepts(ctx, server, leaf)
		return err == nil && ok == want, nil
	})
	if err != nil {
		t.Fatalf("an API server that accepts: %v: %v", want, err)
	}
}

// Other answers show neither.
func TestUnclearAnswersAreErrors(t *testing.T) {
	signer, err := pki.NewSigner("customer-system-admin-signer", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code int
		body string
	}{
		"another user":               {http.StatusCreated, `{"status":{"userInfo":{"username":"system:admin"}}}`},
		"no user":                    {http.StatusCreated, `{`},
		"forbidden, as another user": {http.StatusForbidden, `{"message":"User \"system:anonymous\" cannot create"}`},
		"overloaded":                 {http.StatusTooManyRequests, ""},
		"broken":                     {http.StatusInternalServerError, ""},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.code)
			_, _ = w.Write([]byte(c.body)) // the client may be gone
		}))
		trust := x509.NewCertPool()
		trust.AddCert(server.Certificate())
		at := Server{Server: apiservers.Server{Pod: "a", Address: server.Listener.Addr().String(), Name: "example.com"}, Trust: trust}
		if ok, err := accepts(t.Context(), at, checkLeaf(t, signer.Current)); ok || err == nil || !strings.Contains(err.Error(), "answers") {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		at.Trust = x509.NewCertPool()
		if _, err := accepts(t.Context(), at, checkLeaf(t, signer.Current)); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
			t.Errorf("%s: a server of another authority: %v", name, err)
		}
		server.Close()
		if _, err := accepts(t.Context(), at, checkLeaf(t, signer.Current)); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s: no server: %v", name, err)
		}
	}
}

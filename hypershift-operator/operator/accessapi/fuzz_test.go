package accessapi

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// A request has a validity within the limits, and nothing else of the client's body. A body that is too large is refused.
func FuzzParseRequest(f *testing.F) {
	for _, body := range []string{
		"", "{}", `{"spec":{"expirationSeconds":3600}}`, `{"spec":{"expirationSeconds":-1}}`, `{"spec":{"expirationSeconds":1e18}}`, `{"metadata":{"name":"other","namespace":"b"},"status":{"kubeconfig":"YQ=="}}`,
		`{"spec":{"expirationSeconds":9223372036854775807}}`, `[`, `null`, `{"spec":null}`, strings.Repeat("[", 20000), strings.Repeat(" ", maxBody+1),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		cluster := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "demo"}}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader(string(body))), maxBody)
		asked, err := parseRequest(&request{Request: r, cluster: cluster})
		if err != nil {
			var status apierrors.APIStatus
			if !errors.As(err, &status) || status.Status().Code != http.StatusBadRequest || len(err.Error()) > 1024 {
				t.Errorf("the client gets %.2000v", err)
			}
			return
		}
		validity := time.Duration(asked.Spec.ExpirationSeconds) * time.Second
		if len(body) > maxBody || validity < accessv1alpha1.MinExpiration || validity > accessv1alpha1.MaxExpiration {
			t.Errorf("%d bytes ask for %s", len(body), validity)
		}
		if asked.Metadata.Namespace != "team-a" || asked.Metadata.Name != "demo" || asked.Status.Kubeconfig != nil || len(asked.Metadata.Labels) > 0 {
			t.Errorf("the client chose %+v", asked)
		}
	})
}

// Headers of a client that is not the front proxy name no user. Of the front proxy, no header that the API server does not send becomes a
// group.
func FuzzUser(f *testing.F) {
	signer, err := pki.NewSigner("front-proxy-ca", "", time.Now())
	if err != nil {
		f.Fatal(err)
	}
	other, err := pki.NewSigner("front-proxy-ca", "", time.Now())
	if err != nil {
		f.Fatal(err)
	}
	certificate := func(s *pki.Signer, name string) *x509.Certificate {
		leaf, err := s.Current.Issue(pki.Request{User: name, Usage: pki.Client}, pki.DefaultTerms, time.Now())
		if err != nil {
			f.Fatal(err)
		}
		return leaf.Certificate
	}
	proxy, stranger := certificate(signer, "front-proxy-client"), certificate(other, "front-proxy-client")
	f.Add("X-Remote-User", "alice", "X-Remote-Group", "a", `["X-Remote-User"]`, "X-Remote-Extra-Scopes%2Fa")
	f.Add("x-remote-user", "", "X-REMOTE-GROUP", "system:masters", `["x-remote-user","X-User"]`, "X-Remote-Extra-%zz")
	f.Add("X-Remote-User ", "a\r\nX-Remote-Group: b", "X_Remote_Group", "b", `{}`, "X-Remote-Extra-")
	f.Fuzz(func(t *testing.T, name, value, second, group, users, extra string) {
		rules, err := parseFrontProxy(map[string]string{
			"requestheader-client-ca-file": string(signer.Trust()), "requestheader-allowed-names": `["front-proxy-client"]`, "requestheader-username-headers": users,
			"requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		})
		if err != nil {
			return
		}
		p := &frontProxy{}
		p.rules.Store(rules)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Add(name, value)
		r.Header.Add(second, group)
		r.Header.Add(extra, "scope")
		for _, c := range []*tls.ConnectionState{nil, {}, {PeerCertificates: []*x509.Certificate{stranger}}, {PeerCertificates: []*x509.Certificate{stranger, proxy}}} {
			r.TLS = c
			if user, err := p.user(r); err == nil {
				t.Errorf("a stranger is %+v", user)
			}
		}
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{proxy}}
		user, err := p.user(r)
		if err != nil {
			return
		}
		if user.Username == "" {
			t.Error("a user without a name")
		}
		if sent := r.Header.Values("X-Remote-Group"); len(user.Groups) != len(sent) {
			t.Errorf("groups %q, sent %q", user.Groups, sent)
		}
		if _, err := json.Marshal(user); err != nil {
			t.Error(err)
		}
	})
}

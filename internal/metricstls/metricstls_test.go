package metricstls

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// serve serves over TLS, and returns where.
func serve(t *testing.T, opts ...func(*tls.Config)) string {
	t.Helper()
	cfg := &tls.Config{NextProtos: []string{"h2"}}
	for _, opt := range opts {
		opt(cfg)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// get sends a request with the certificates.
func get(address string, certificates ...tls.Certificate) error {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
	defer c.CloseIdleConnections()
	resp, err := c.Get("https://" + address + "/metrics")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func authority(t *testing.T, name string) *pki.Authority {
	t.Helper()
	a, err := pki.NewAuthority(name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *pki.Authority, usage pki.Usage) tls.Certificate {
	t.Helper()
	leaf, err := a.Issue(pki.Request{User: "metrics-reader", Usage: usage}, pki.DefaultTerms, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestOnlyClientsOfTheAuthorityAreAccepted(t *testing.T) {
	ours, other := authority(t, "metrics"), authority(t, "metrics")
	trust := pki.Bundle(ours.Certificate)
	for name, tc := range map[string]struct {
		trust        []byte
		certificates []tls.Certificate
		want         bool
	}{
		"a client with a certificate of the authority": {trust, []tls.Certificate{issue(t, ours, pki.Client)}, true},
		"a client without a certificate":               {trust, nil, false},
		"a client of another authority of that name":   {trust, []tls.Certificate{issue(t, other, pki.Client)}, false},
		"a server with a certificate of the authority": {trust, []tls.Certificate{issue(t, ours, pki.Server)}, false},
		"nobody where there is no authority":           {nil, []tls.Certificate{issue(t, ours, pki.Client)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := get(serve(t, SelfSigned, SignedBy(tc.trust)), tc.certificates...); (err == nil) != tc.want {
				t.Errorf("let in: %v (%v), want %v", err == nil, err, tc.want)
			}
		})
	}
}

func TestMetricsAreNotServedWithoutTLS(t *testing.T) {
	address := serve(t, SelfSigned)
	if err := get(address); err != nil {
		t.Errorf("over TLS: %v", err)
	}
	resp, err := http.Get("http://" + address + "/metrics")
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode == http.StatusNoContent {
			t.Error("without TLS there is an answer, too")
		}
	}
}

package kubeapiserver

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// The port for agents is public: every client that reaches the API server's load balancer can connect to it. An agent receives
// the connections of the API server to nodes and pods.
func TestOnlyAgentsOfTheClusterConnectToTheKonnectivityServer(t *testing.T) {
	env := targettest.Env()
	certify(t, env)
	m := newMachine(t, env)
	programs, err := pinned.Ensure(t.Context(), os.Stderr, "proxy-server")
	m.must(err)
	objs, err := component.Render(Component, env)
	m.must(err)
	agents, health := m.free(), m.free()
	for flag, address := range map[string]string{"--agent-port=8091": agents, "--health-port=8092": health, "--admin-port=8093": m.free()} {
		m.replace[flag] = flag[:strings.Index(flag, "=")+1] + portOf(address)
	}
	pod := podOf(objs)
	server := m.runContainer(objs, *component.Container(&pod, names.KonnectivityServerImage), programs["proxy-server"], "konnectivity", nil)
	m.ready(server, "http://"+health+"/healthz", http.DefaultClient)

	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(env.Secrets[names.KonnectivityCertificate].Data[pki.TrustKey])
	agent := pki.Request{User: "konnectivity-agent", Usage: pki.Client}
	issue := func(by *pki.Authority, want pki.Request, at time.Time) *tls.Certificate {
		t.Helper()
		leaf, err := by.Issue(want, pki.Terms{Validity: time.Hour}, at)
		m.must(err)
		return pair(t, leaf.CertPEM, leaf.KeyPEM)
	}
	authority := func(signer string) *pki.Authority {
		t.Helper()
		s, err := pki.DecodeSigner(env.Secrets[signer].Data)
		m.must(err)
		return s.Current
	}
	another := targettest.Env()
	certify(t, another)
	stranger, err := pki.NewAuthority(names.KonnectivitySigner, time.Now())
	m.must(err)

	own := env.Secrets[names.KonnectivityAgentCertificate].Data
	if err := connectAgent(agents, trusted, pair(t, own["tls.crt"], own["tls.key"])); err != nil {
		t.Fatalf("an agent of the cluster: %v", err)
	}
	theirs := another.Secrets[names.KonnectivityAgentCertificate].Data
	attacks := map[string]*tls.Certificate{
		"no certificate": nil,
		"a certificate of an agent of another cluster":    pair(t, theirs["tls.crt"], theirs["tls.key"]),
		"a certificate of another authority of that name": issue(stranger, agent, time.Now()),
		"a certificate for servers":                       issue(authority(names.KonnectivitySigner), pki.Request{User: "konnectivity-agent", Usage: pki.Server, Hosts: []string{"localhost"}}, time.Now()),
		"a certificate that has expired":                  issue(authority(names.KonnectivitySigner), agent, time.Now().Add(-2*time.Hour)),
	}
	for _, signer := range []string{names.RootCA, names.ClusterSignerCA, names.ClientSigner, names.EtcdSigner, names.AggregatorClientSigner, names.KubeletClientSigner} {
		attacks["a client certificate of "+signer] = issue(authority(signer), agent, time.Now())
	}
	for attack, certificate := range attacks {
		if err := connectAgent(agents, trusted, certificate); err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
			t.Errorf("%s is not refused: %v", attack, err)
		}
	}
	if resp, err := http.Get("http://" + agents); err == nil {
		_ = resp.Body.Close()
		t.Errorf("a connection without TLS has the answer %s", resp.Status)
	}
}

func pair(t *testing.T, cert, key []byte) *tls.Certificate {
	t.Helper()
	certificate, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificate
}

// connectAgent connects as an agent, and waits for the first bytes of the server. A server with TLS 1.3 verifies the client after
// the client has completed its handshake.
func connectAgent(address string, trusted *x509.CertPool, certificate *tls.Certificate) error {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted, NextProtos: []string{"h2"}}
	if certificate != nil { // also one of an authority that the server does not name
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	const settings = 9 // bytes of the header of a frame
	if _, err := io.ReadFull(conn, make([]byte, settings)); err != nil {
		return fmt.Errorf("reading the settings of the server: %w", err)
	}
	return nil
}

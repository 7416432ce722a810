package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// An end is one side of a connection: its certificate and its trusted authorities.
type end struct{ cert, key, trust []byte }

// ends returns all ends, as pods mount them.
func (e *certificateAuthorities) ends() map[string]end {
	e.T.Helper()
	out := map[string]end{}
	for name, s := range e.secrets() {
		server := end{s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey], s.Data["ca.crt"]}
		for _, key := range []string{names.AdminKubeconfigFile, names.ClusterKubeconfigFile} {
			if text := s.Data[key]; text != nil {
				config, err := clientcmd.RESTConfigFromKubeConfig(text)
				e.Must(err)
				server = end{config.CertData, config.KeyData, config.CAData}
			}
		}
		out[name] = server
	}
	// The API server's trusted client authorities are in a ConfigMap.
	for _, name := range []string{names.APIServerCertificate, names.APIServerPrivateCertificate} {
		server := out[name]
		server.trust = e.bundle(names.ClientCA)
		out[name] = server
	}
	return out
}

// connections lists the connections in a control plane: client, server, name of the server.
var connections = []struct{ client, server, host string }{
	{names.AdminKubeconfig, names.APIServerCertificate, "api.demo.example.com"},
	{names.AdminKubeconfig, names.APIServerCertificate, "api.demo.hypershift.local"},
	{names.AdminKubeconfig, names.APIServerCertificate, "172.31.0.1"},
	{names.AdminKubeconfig, names.APIServerCertificate, "172.20.0.1"},
	{names.AdminKubeconfig, names.APIServerCertificate, "kubernetes.default.svc"},
	{names.ControllerManagerKubeconfig, names.APIServerPrivateCertificate, "kube-apiserver.clusters-demo.svc"},
	{names.SchedulerKubeconfig, names.APIServerPrivateCertificate, "kube-apiserver.clusters-demo.svc"},
	{names.ControlPlaneOperatorKubeconfig, names.APIServerPrivateCertificate, "kube-apiserver.clusters-demo.svc"},
	{"demo-x-kubeconfig", names.APIServerPrivateCertificate, "kube-apiserver.clusters-demo.svc"},
	{"demo-x-kubeconfig", names.APIServerPrivateCertificate, "localhost"},
	{"demo-x-kubeconfig", names.APIServerPrivateCertificate, "127.0.0.1"},
	{names.EtcdClientCertificate, names.EtcdServerCertificate, "etcd-client.clusters-demo.svc"},
	{names.EtcdClientCertificate, names.EtcdServerCertificate, "etcd-1.etcd-discovery.clusters-demo.svc"},
	{names.EtcdServerCertificate, names.EtcdServerCertificate, "::1"},
	{names.EtcdPeerCertificate, names.EtcdPeerCertificate, "etcd-2.etcd-discovery.clusters-demo.svc.cluster.local"},
	{names.KonnectivityAgentCertificate, names.KonnectivityCertificate, "konnectivity.demo.example.com"},
	{names.KonnectivityAgentCertificate, names.KonnectivityCertificate, "konnectivity-server.clusters-demo.svc"},
}

// connect makes every connection for which both ends exist.
func (e *certificateAuthorities) connect() {
	e.T.Helper()
	e.between(e.ends(), e.ends())
}

// between makes every connection from the clients of one state of the Secrets to the servers of another.
func (e *certificateAuthorities) between(clients, servers map[string]end) {
	e.T.Helper()
	for _, c := range connections {
		if clients[c.client].cert == nil || servers[c.server].cert == nil {
			continue // it does not exist yet
		}
		if err := handshake(servers[c.server], clients[c.client], c.host, e.Clock.Now()); err != nil {
			e.T.Errorf("%s to %s as %s: %v", c.client, c.server, c.host, err)
		}
	}
}

func TestAllComponentsConnect(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	e.connect()
	ends := e.ends()
	for _, c := range connections {
		if ends[c.client].cert == nil || ends[c.server].cert == nil {
			t.Errorf("there is no connection from %s to %s", c.client, c.server)
		}
	}
}

func TestKubeletsAcceptOnlyTheAPIServer(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	ends := e.ends()
	kubelet := ends[names.SchedulerCertificate] // stands for any server
	kubelet.trust = e.bundle(names.KubeletClientCA)
	for _, c := range []struct {
		client string
		letIn  bool
	}{{names.KubeletClientCertificate, true}, {names.AdminKubeconfig, false}, {names.ControllerManagerCertificate, false}} {
		caller := ends[c.client]
		caller.trust = ends[names.AdminKubeconfig].trust
		if err := handshake(kubelet, caller, "localhost", e.Clock.Now()); (err == nil) != c.letIn {
			t.Errorf("%s: %v", c.client, err)
		}
	}
}

func TestCertificatesOfOtherAuthoritiesAreRejected(t *testing.T) {
	e := newCertificateAuthorities(t)
	e.Once()
	ends := e.ends()
	for _, c := range []struct{ client, server, likeThem string }{
		{names.EtcdClientCertificate, names.APIServerPrivateCertificate, names.AdminKubeconfig},
		{names.AggregatorClientCertificate, names.APIServerPrivateCertificate, names.AdminKubeconfig},
		{names.KubeletClientCertificate, names.APIServerPrivateCertificate, names.AdminKubeconfig},
		{names.ControllerManagerCertificate, names.APIServerPrivateCertificate, names.AdminKubeconfig},
		{names.AdminKubeconfig, names.EtcdServerCertificate, names.EtcdClientCertificate},
		{names.KonnectivityAgentCertificate, names.EtcdServerCertificate, names.EtcdClientCertificate},
	} {
		stranger := ends[c.client]
		stranger.trust = ends[c.likeThem].trust
		if err := handshake(ends[c.server], stranger, "localhost", e.Clock.Now()); err == nil || !strings.Contains(err.Error(), "unknown authority") {
			t.Errorf("%s does not refuse %s: %v", c.server, c.client, err)
		}
	}
}

// Membership in system:masters cannot be revoked.
func TestNoCertificateIsInSystemMasters(t *testing.T) {
	e := newCertificateAuthorities(t, withOwnName)
	e.Once()
	for name, e := range e.ends() {
		certs, err := pki.ParseBundle(e.cert)
		if err == nil && slices.Contains(certs[0].Subject.Organization, "system:masters") {
			t.Errorf("%s is of system:masters", name)
		}
	}
}

// handshake runs a real TLS handshake in which both ends send a certificate.
func handshake(server, client end, host string, at time.Time) error {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	there, err1 := config(server, at)
	here, err2 := config(client, at)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	there.ClientAuth, here.ServerName = tls.RequireAndVerifyClientCert, host
	shown := &here.Certificates[0] // even if the server does not request this authority
	here.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown, nil }
	handshake := make(chan error, 1)
	go func() {
		defer a.Close()
		handshake <- tls.Server(a, there).Handshake()
	}()
	err := tls.Client(b, here).Handshake()
	b.Close() // the handshake is complete, and alerts are not read
	return errors.Join(err, <-handshake)
}

func config(e end, at time.Time) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(e.cert, e.key)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(e.trust)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, Time: func() time.Time { return at }}, nil
}

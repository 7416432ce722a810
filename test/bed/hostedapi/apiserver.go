package hostedapi

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// signingKey waits for the key pair that the cluster's service account tokens are signed with: AWS knows it already.
func (a *API) signingKey(ctx context.Context) (private, public []byte, err error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: a.namespace, Name: names.ServiceAccountSigningKey}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := a.management.Get(ctx, key, secret)
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("waiting for Secret %s: %w", key, err)
	}
	return secret.Data[names.ServiceAccountPrivateKeyFile], secret.Data[names.ServiceAccountPublicKeyFile], nil
}

// hosts are what the API server of a cluster is called by its nodes and users.
func hosts(hc *hyperv1.HostedCluster) []string {
	all := []string{"127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", names.LocalAPI(hc.Name)}
	for _, service := range hc.Spec.Services {
		if service.Service != hyperv1.APIServer {
			continue
		}
		if route := service.ServicePublishingStrategy.Route; route != nil && route.Hostname != "" {
			all = append(all, route.Hostname)
		}
		if balancer := service.ServicePublishingStrategy.LoadBalancer; balancer != nil && balancer.Hostname != "" {
			all = append(all, balancer.Hostname)
		}
	}
	return all
}

// startServer starts kube-apiserver and gives us its administrator.
func (a *API) startServer(ctx context.Context, opts Options, hc *hyperv1.HostedCluster) error {
	private, public, err := a.signingKey(ctx)
	if err != nil {
		return err
	}
	serving, servingKey, err := a.ca.issue(pkix.Name{CommonName: "kube-apiserver"}, hosts(hc)...)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"ca.crt": a.ca.pem(), "tls.crt": serving, "tls.key": servingKey, "sa.key": private, "sa.pub": public} {
		if err := os.WriteFile(a.path(name), content, 0o600); err != nil {
			return fmt.Errorf("writing the certificates of %s: %w", a.namespace, err)
		}
	}
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	a.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	a.server, err = process.Start(process.Spec{
		Name: "kube-apiserver of " + a.namespace,
		Path: opts.Server.Program,
		Log:  opts.Log,
		Args: []string{
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(port),
			"--advertise-address=192.0.2.1", // nothing reaches it through the "kubernetes" Service
			"--endpoint-reconciler-type=none",
			"--etcd-servers=" + opts.Server.Etcd,
			"--etcd-prefix=/hosted/" + a.namespace,
			"--service-cluster-ip-range=" + serviceNetwork(hc),
			"--cert-dir=" + a.dir,
			"--tls-cert-file=" + a.path("tls.crt"),
			"--tls-private-key-file=" + a.path("tls.key"),
			"--client-ca-file=" + a.path("ca.crt"),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--enable-bootstrap-token-auth=true",
			"--service-account-issuer=" + hc.Spec.IssuerURL,
			"--service-account-key-file=" + a.path("sa.pub"),
			"--service-account-signing-key-file=" + a.path("sa.key"),
		},
	})
	if err != nil {
		return err
	}
	if a.Config, err = a.user("admin", "system:masters"); err != nil {
		return err
	}
	return a.ready(ctx)
}

func (a *API) ready(ctx context.Context) error {
	transport, err := rest.TransportFor(a.Config)
	if err != nil {
		return fmt.Errorf("asking whether the API server of %s is ready: %w", a.namespace, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return a.server.Ready(ctx, &http.Client{Transport: transport}, a.Config.Host+"/readyz")
}

// user makes somebody with a client certificate.
func (a *API) user(name string, groups ...string) (*rest.Config, error) {
	certificate, key, err := a.ca.issue(pkix.Name{CommonName: name, Organization: groups})
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            "https://" + a.Address,
		TLSClientConfig: rest.TLSClientConfig{CAData: a.ca.pem(), CertData: certificate, KeyData: key},
		QPS:             -1,
		WarningHandler:  rest.NoWarnings{},
	}, nil
}

func serviceNetwork(hc *hyperv1.HostedCluster) string {
	for _, network := range hc.Spec.Networking.ServiceNetwork {
		return network.CIDR
	}
	return "172.31.0.0/16"
}

func (a *API) path(name string) string { return filepath.Join(a.dir, name) }

package supervisor

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/fixture/cloudcontroller"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

const (
	etcdClient    = "https://127.0.0.1:2379"
	serviceIP     = "10.57.0.1" // of the Service kubernetes
	dnsDomain     = "cluster.local"
	serviceIssuer = "https://kubernetes.default.svc"
	masters       = "system:masters"
)

// auditPolicy selects the requests of the management cluster that cluster.AuditLog contains.
//
//go:embed manifests/audit.yaml
var auditPolicy []byte

// certify creates all certificates and kubeconfigs of the management cluster.
func (s *supervisor) certify(context.Context) error {
	a, err := newAuthority(s.path("pki"))
	if err != nil {
		return err
	}
	s.authority = a
	if err := a.serviceAccountKey("service-account"); err != nil {
		return err
	}
	for name, want := range map[string]pki.Request{
		"etcd":        {User: "etcd", Hosts: []string{"127.0.0.1", "localhost"}},
		"etcd-client": {User: "kube-apiserver"},
		"kube-apiserver": {User: "kube-apiserver", Hosts: []string{
			cluster.APIServerAddress, serviceIP, "127.0.0.1", "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + dnsDomain,
		}},
		"kubelet-client": {User: "kube-apiserver-kubelet-client", Groups: []string{masters}},
		"front-proxy":    {User: "front-proxy-client"},
	} {
		if err := a.leaf(name, want); err != nil {
			return err
		}
	}
	for path, user := range map[string]string{
		s.path("pki", "kube-controller-manager"): "system:kube-controller-manager",
		s.path("pki", "kube-scheduler"):          "system:kube-scheduler",
		s.path("pki", "kube-proxy"):              "system:kube-proxy",
		s.path("pki", "networkpolicy"):           "system:networkpolicy",
		s.path("pki", cloudcontroller.Name):      cloudcontroller.User,
	} {
		if err := a.kubeconfig(path, cluster.APIServer, user); err != nil {
			return err
		}
	}
	return a.kubeconfig(cluster.Kubeconfig(s.options.Dir), cluster.APIServer, "admin", masters)
}

func (s *supervisor) startEtcd(ctx context.Context) error {
	return s.start(ctx, "http://127.0.0.1:2381/readyz", process.Spec{Name: "etcd", Args: []string{
		"--name=lab",
		"--data-dir=" + s.path("etcd"),
		"--listen-client-urls=" + etcdClient, "--advertise-client-urls=" + etcdClient,
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=lab=http://127.0.0.1:2380",
		"--listen-metrics-urls=http://127.0.0.1:2381",
		"--cert-file=" + s.authority.cert("etcd"), "--key-file=" + s.authority.key("etcd"),
		"--client-cert-auth", "--trusted-ca-file=" + s.authority.cert(ca),
		// The data of a lab is not needed after a power failure.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}})
}

func (s *supervisor) startAPIServer(ctx context.Context) error {
	trust, policy := s.authority.cert(ca), s.path("audit-policy.yaml")
	if err := os.WriteFile(policy, auditPolicy, 0o644); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	return s.start(ctx, cluster.APIServer+"/readyz", process.Spec{Name: "kube-apiserver", Args: []string{
		"--bind-address=" + cluster.APIServerAddress, "--advertise-address=" + cluster.APIServerAddress, "--secure-port=6443",
		"--etcd-servers=" + etcdClient, "--etcd-cafile=" + trust,
		"--etcd-certfile=" + s.authority.cert("etcd-client"), "--etcd-keyfile=" + s.authority.key("etcd-client"),
		"--client-ca-file=" + trust,
		"--tls-cert-file=" + s.authority.cert("kube-apiserver"), "--tls-private-key-file=" + s.authority.key("kube-apiserver"),
		"--kubelet-client-certificate=" + s.authority.cert("kubelet-client"), "--kubelet-client-key=" + s.authority.key("kubelet-client"),
		// The names of machines are not in DNS.
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=" + serviceIssuer,
		"--service-account-key-file=" + s.authority.key("service-account"),
		"--service-account-signing-key-file=" + s.authority.key("service-account"),
		"--service-cluster-ip-range=" + cluster.ServiceNetwork,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--enable-bootstrap-token-auth=true",
		"--requestheader-client-ca-file=" + trust, "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + s.authority.cert("front-proxy"), "--proxy-client-key-file=" + s.authority.key("front-proxy"),
		// Routes lead from the API server to pods, but not to Services.
		"--enable-aggregator-routing=true",
		"--audit-policy-file=" + policy, "--audit-log-path=" + s.path("logs", cluster.AuditLog),
	}})
}

// startControllers starts the components that need only the API server.
func (s *supervisor) startControllers(ctx context.Context) error {
	return inParallel(
		s.controller("kube-controller-manager", 10257,
			"--use-service-account-credentials=true",
			"--root-ca-file="+s.authority.cert(ca),
			"--service-account-private-key-file="+s.authority.key("service-account"),
			"--cluster-signing-cert-file="+s.authority.cert(ca), "--cluster-signing-key-file="+s.authority.key(ca),
			// The supervisor waits for nodes; short periods make a ready node accept pods soon.
			"--node-monitor-period=1s",
			"--allocate-node-cidrs=true", "--cluster-cidr="+cluster.PodNetwork, "--service-cluster-ip-range="+cluster.ServiceNetwork,
		),
		s.controller("kube-scheduler", 10259),
	)(ctx)
}

func (s *supervisor) controller(name string, port int, args ...string) step {
	kubeconfig := filepath.Join(s.authority.dir, name)
	args = append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--leader-elect=false", "--profiling=false",
	}, args...)
	return func(ctx context.Context) error {
		return s.start(ctx, fmt.Sprintf("https://127.0.0.1:%d/healthz", port), process.Spec{Name: name, Args: args})
	}
}

// start starts a server, and reports it.
func (s *supervisor) start(ctx context.Context, health string, spec process.Spec) error {
	if err := s.servers.start(ctx, health, spec); err != nil {
		return err
	}
	s.report("%s", spec.Name)
	return nil
}

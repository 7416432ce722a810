package supervisor

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture/cloudcontroller"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

const (
	dnsDomain     = "cluster.local"
	serviceIssuer = "https://kubernetes.default.svc"
	masters       = "system:masters"
)

// auditPolicy selects the requests of the management cluster that cluster.AuditLog contains.
//
//go:embed manifests/audit.yaml
var auditPolicy []byte

// management is a management cluster of the lab.
type management struct {
	*supervisor
	// dir is the directory of its files, and prefix the beginning of the names of its servers.
	dir, prefix string
	addresses   addresses
	authority   *authority
	admin       *rest.Config
	account     *awsemulator.Management // nil without a cloud
	joined      *joined                 // it admits machines
}

// addresses are the addresses of a management cluster. etcd and the controllers of the second one add portOffset to their ports.
type addresses struct {
	apiServer, pods, services, service, dns string // service is the address of the Service kubernetes
	portOffset                              int
}

func (m *management) path(elements ...string) string {
	return filepath.Join(append([]string{m.dir}, elements...)...)
}

func (m *management) server() string { return "https://" + m.addresses.apiServer + ":6443" }

// local is an address of one of its servers on loopback.
func (m *management) local(scheme string, port int) string {
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port+m.addresses.portOffset)
}

// certify creates all certificates and kubeconfigs of the management cluster.
func (m *management) certify(context.Context) error {
	a, err := newAuthority(m.path("pki"), cmp.Or(strings.TrimSuffix(m.prefix, "-"), "lab"))
	if err != nil {
		return err
	}
	m.authority = a
	if err := a.serviceAccountKey("service-account"); err != nil {
		return err
	}
	for name, want := range map[string]pki.Request{
		"etcd":        {User: "etcd", Hosts: []string{"127.0.0.1", "localhost"}},
		"etcd-client": {User: "kube-apiserver"},
		"kube-apiserver": {User: "kube-apiserver", Hosts: []string{
			m.addresses.apiServer, m.addresses.service, "127.0.0.1", "localhost",
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
		m.path("pki", "kube-controller-manager"): "system:kube-controller-manager",
		m.path("pki", "kube-scheduler"):          "system:kube-scheduler",
		m.path("pki", "kube-proxy"):              "system:kube-proxy",
		m.path("pki", "networkpolicy"):           "system:networkpolicy",
		m.path("pki", cloudcontroller.Name):      cloudcontroller.User,
	} {
		if err := a.kubeconfig(path, m.server(), user); err != nil {
			return err
		}
	}
	return a.kubeconfig(cluster.Kubeconfig(m.dir), m.server(), "admin", masters)
}

func (m *management) startControlPlane(ctx context.Context) error {
	return inSequence(m.startEtcd, m.startAPIServer, m.connect, m.startControllers)(ctx)
}

func (m *management) startEtcd(ctx context.Context) error {
	client, peer, metrics := m.local("https", 2379), m.local("http", 2380), m.local("http", 2381)
	return m.start(ctx, metrics+"/readyz", process.Spec{Name: "etcd", Args: []string{
		"--name=lab",
		"--data-dir=" + m.path("etcd"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=lab=" + peer,
		"--listen-metrics-urls=" + metrics,
		"--cert-file=" + m.authority.cert("etcd"), "--key-file=" + m.authority.key("etcd"),
		"--client-cert-auth", "--trusted-ca-file=" + m.authority.cert(ca),
		// The data of a lab is not needed after a power failure.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}})
}

func (m *management) startAPIServer(ctx context.Context) error {
	trust, policy := m.authority.cert(ca), m.path("audit-policy.yaml")
	if err := os.WriteFile(policy, auditPolicy, 0o644); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	return m.start(ctx, m.server()+"/readyz", process.Spec{Name: "kube-apiserver", Args: []string{
		"--bind-address=" + m.addresses.apiServer, "--advertise-address=" + m.addresses.apiServer, "--secure-port=6443",
		"--etcd-servers=" + m.local("https", 2379), "--etcd-cafile=" + trust,
		"--etcd-certfile=" + m.authority.cert("etcd-client"), "--etcd-keyfile=" + m.authority.key("etcd-client"),
		"--client-ca-file=" + trust,
		"--tls-cert-file=" + m.authority.cert("kube-apiserver"), "--tls-private-key-file=" + m.authority.key("kube-apiserver"),
		"--kubelet-client-certificate=" + m.authority.cert("kubelet-client"), "--kubelet-client-key=" + m.authority.key("kubelet-client"),
		// The names of machines are not in DNS.
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=" + serviceIssuer,
		"--service-account-key-file=" + m.authority.key("service-account"),
		"--service-account-signing-key-file=" + m.authority.key("service-account"),
		"--service-cluster-ip-range=" + m.addresses.services,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--enable-bootstrap-token-auth=true",
		"--requestheader-client-ca-file=" + trust, "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + m.authority.cert("front-proxy"), "--proxy-client-key-file=" + m.authority.key("front-proxy"),
		// Routes lead from the API server to pods, but not to Services.
		"--enable-aggregator-routing=true",
		"--audit-policy-file=" + policy, "--audit-log-path=" + m.supervisor.path("logs", m.prefix+cluster.AuditLog),
	}})
}

// startControllers starts the components that need only the API server.
func (m *management) startControllers(ctx context.Context) error {
	return inParallel(
		m.controller("kube-controller-manager", 10257,
			"--use-service-account-credentials=true",
			"--root-ca-file="+m.authority.cert(ca),
			"--service-account-private-key-file="+m.authority.key("service-account"),
			"--cluster-signing-cert-file="+m.authority.cert(ca), "--cluster-signing-key-file="+m.authority.key(ca),
			// The supervisor waits for nodes; short periods make a ready node accept pods soon.
			"--node-monitor-period=1s",
			"--allocate-node-cidrs=true", "--cluster-cidr="+m.addresses.pods, "--service-cluster-ip-range="+m.addresses.services,
		),
		m.controller("kube-scheduler", 10259),
	)(ctx)
}

func (m *management) controller(name string, port int, args ...string) step {
	kubeconfig := filepath.Join(m.authority.dir, name)
	args = append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port+m.addresses.portOffset), "--leader-elect=false", "--profiling=false",
	}, args...)
	return func(ctx context.Context) error {
		return m.start(ctx, m.local("https", port)+"/healthz", process.Spec{Name: name, Args: args})
	}
}

// start starts a server, and reports it.
func (m *management) start(ctx context.Context, health string, spec process.Spec) error {
	spec.Path = m.servers.program(spec.Name)
	spec.Name = m.prefix + spec.Name
	if err := m.servers.start(ctx, health, spec); err != nil {
		return err
	}
	m.report("%s", spec.Name)
	return nil
}

package supervisor

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/test/bed/cloudcontroller"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

const (
	etcdClient    = "https://127.0.0.1:2379"
	serviceIP     = "10.57.0.1" // of the Service kubernetes
	dnsDomain     = "cluster.local"
	serviceIssuer = "https://kubernetes.default.svc"
)

// certify makes all certificates and kubeconfigs of the management cluster.
func (s *supervisor) certify(context.Context) error {
	p, err := newPKI(s.path("pki"))
	if err != nil {
		return err
	}
	s.pki = p
	if err := p.serviceAccountKey("service-account"); err != nil {
		return err
	}
	for _, leaf := range []struct {
		name, user, group string
		hosts             []string
	}{
		{name: "etcd", user: "etcd", hosts: []string{"127.0.0.1", "localhost"}},
		{name: "etcd-client", user: "kube-apiserver"},
		{name: "kube-apiserver", user: "kube-apiserver", hosts: []string{
			cluster.SwitchAddress, serviceIP, "127.0.0.1", "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + dnsDomain,
		}},
		{name: "kubelet-client", user: "kube-apiserver-kubelet-client", group: "system:masters"},
		{name: "front-proxy", user: "front-proxy-client"},
	} {
		if err := p.leaf(leaf.name, leaf.user, leaf.group, leaf.hosts...); err != nil {
			return err
		}
	}
	for _, user := range []struct{ path, name, group string }{
		{cluster.Kubeconfig(s.options.Dir), "admin", "system:masters"},
		{s.path("pki", "kube-controller-manager"), "system:kube-controller-manager", ""},
		{s.path("pki", "kube-scheduler"), "system:kube-scheduler", ""},
		{s.path("pki", "kube-proxy"), "system:kube-proxy", ""},
		{s.path("pki", cloudcontroller.Name), cloudcontroller.User, ""},
	} {
		if err := p.kubeconfig(user.path, cluster.APIServer, user.name, user.group); err != nil {
			return err
		}
	}
	return nil
}

func (s *supervisor) startEtcd(ctx context.Context) error {
	return s.start(ctx, "http://127.0.0.1:2381/readyz", process.Spec{Name: "etcd", Args: []string{
		"--name=lab",
		"--data-dir=" + s.path("etcd"),
		"--listen-client-urls=" + etcdClient, "--advertise-client-urls=" + etcdClient,
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=lab=http://127.0.0.1:2380",
		"--listen-metrics-urls=http://127.0.0.1:2381",
		"--cert-file=" + s.pki.cert("etcd"), "--key-file=" + s.pki.keyOf("etcd"),
		"--client-cert-auth", "--trusted-ca-file=" + s.pki.cert("ca"),
		// What a lab has in it nobody needs after a power cut.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}})
}

func (s *supervisor) startAPIServer(ctx context.Context) error {
	ca := s.pki.cert("ca")
	return s.start(ctx, cluster.APIServer+"/readyz", process.Spec{Name: "kube-apiserver", Args: []string{
		"--bind-address=" + cluster.SwitchAddress, "--advertise-address=" + cluster.SwitchAddress, "--secure-port=6443",
		"--etcd-servers=" + etcdClient, "--etcd-cafile=" + ca,
		"--etcd-certfile=" + s.pki.cert("etcd-client"), "--etcd-keyfile=" + s.pki.keyOf("etcd-client"),
		"--client-ca-file=" + ca,
		"--tls-cert-file=" + s.pki.cert("kube-apiserver"), "--tls-private-key-file=" + s.pki.keyOf("kube-apiserver"),
		"--kubelet-client-certificate=" + s.pki.cert("kubelet-client"), "--kubelet-client-key=" + s.pki.keyOf("kubelet-client"),
		// The names of machines are not in any DNS.
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=" + serviceIssuer,
		"--service-account-key-file=" + s.pki.keyOf("service-account"),
		"--service-account-signing-key-file=" + s.pki.keyOf("service-account"),
		"--service-cluster-ip-range=" + cluster.ServiceNetwork,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--enable-bootstrap-token-auth=true",
		"--requestheader-client-ca-file=" + ca, "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + s.pki.cert("front-proxy"), "--proxy-client-key-file=" + s.pki.keyOf("front-proxy"),
		// We have a route to pods, and none to Services.
		"--enable-aggregator-routing=true",
		"--profiling=false",
	}})
}

// startControllers starts what needs the API server alone.
func (s *supervisor) startControllers(ctx context.Context) error {
	return together(
		s.controller("kube-controller-manager", 10257,
			"--use-service-account-credentials=true",
			"--root-ca-file="+s.pki.cert("ca"),
			"--service-account-private-key-file="+s.pki.keyOf("service-account"),
			"--cluster-signing-cert-file="+s.pki.cert("ca"), "--cluster-signing-key-file="+s.pki.keyOf("ca"),
			"--allocate-node-cidrs=true", "--cluster-cidr="+cluster.PodNetwork, "--service-cluster-ip-range="+cluster.ServiceNetwork,
		),
		s.controller("kube-scheduler", 10259),
	)(ctx)
}

func (s *supervisor) controller(name string, port int, args ...string) step {
	kubeconfig := filepath.Join(s.pki.dir, name)
	args = append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--leader-elect=false", "--profiling=false",
	}, args...)
	return func(ctx context.Context) error {
		return s.start(ctx, fmt.Sprintf("https://127.0.0.1:%d/healthz", port), process.Spec{Name: name, Args: args})
	}
}

// start starts a server, and says so.
func (s *supervisor) start(ctx context.Context, health string, spec process.Spec) error {
	if err := s.servers.start(ctx, health, spec); err != nil {
		return err
	}
	s.say("%s", spec.Name)
	return nil
}

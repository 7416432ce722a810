package pinned

import (
	"fmt"
	"slices"
	"strings"
)

// module is one directory of hack/binaries: a Go module that pins the version of the programs it builds.
type module struct {
	dir     string              // below hack/binaries
	require string              // the requirement in its go.mod that gives the version
	ldflags func(string) string // linker flags, for that version
	tags    []string            // build tags
	env     []string            // additional environment of the build
	gib     uint64              // free disk space for a build with empty caches
	patched bool                // its directory patch has files that replace some of the program: see patch
	patches string              // the library of the program that they replace files of instead
}

// binary is one program: a server of a test environment, or a linter.
type binary struct {
	name    string
	file    string // file name, if two versions have the same name
	module  *module
	pkg     string
	seconds int  // approximate seconds on two cores with empty caches, after the programs before it
	test    bool // the program is the test of the package
}

func (b binary) fileName() string {
	if b.file != "" {
		return b.file
	}
	return b.name
}

var (
	etcd = &module{
		dir:     "etcd",
		require: "go.etcd.io/etcd/server/v3",
		ldflags: stripped,
		gib:     1,
	}
	kubernetes = &module{
		dir:     "kubernetes",
		require: "k8s.io/kubernetes",
		ldflags: kubernetesVersion,
		gib:     5,
	}
	// kubernetesBefore is the previous version, from which hosted clusters are upgraded.
	kubernetesBefore = &module{
		dir:     "kubernetes-1.36",
		require: "k8s.io/kubernetes",
		ldflags: kubernetesVersion,
		gib:     5,
	}
	// kubeletBefore has its own module, so that its dependencies do not cause builds of the servers.
	kubeletBefore = &module{
		dir:     "kubelet-1.36",
		require: "k8s.io/kubernetes",
		ldflags: kubernetesVersion,
		gib:     3,
	}
	// kubeletOldest is the oldest version of nodes that a scenario joins to the newest API server.
	kubeletOldest = &module{
		dir:     "kubelet-1.35",
		require: "k8s.io/kubernetes",
		ldflags: kubernetesVersion,
		gib:     3,
	}
	containerd = &module{
		dir:     "containerd",
		require: "github.com/containerd/containerd/v2",
		ldflags: versionIn("github.com/containerd/containerd/v2/version.Version"),
		tags:    []string{"no_btrfs", "no_zfs", "no_devmapper", "no_tracing"},
		gib:     2,
	}
	// runc enters namespaces in C, before the Go runtime starts threads. Pods with a seccomp profile need libseccomp.
	runc = &module{
		dir:     "runc",
		require: "github.com/opencontainers/runc",
		ldflags: func(v string) string { return versionIn("main.version")(v) + " -extldflags=-static" },
		tags:    []string{"seccomp", "netgo", "osusergo"},
		env:     []string{"CGO_ENABLED=1"},
		gib:     1,
	}
	cni = &module{
		dir:     "cni",
		require: "github.com/containernetworking/plugins",
		ldflags: versionIn("github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion"),
		gib:     1,
	}
	// ignition reads file systems by libblkid and users by libc, of the machine on which it is built.
	ignition = &module{
		dir:     "ignition",
		require: "github.com/coreos/ignition/v2",
		ldflags: func(v string) string {
			// Debian has no policy of SELinux, after which Ignition would label its files.
			return versionIn("github.com/coreos/ignition/v2/internal/version.Raw")(v) + " -X github.com/coreos/ignition/v2/internal/distro.selinuxRelabel=false"
		},
		env: []string{"CGO_ENABLED=1"},
		gib: 1,
	}
	// coredns is built without the plugins that no configuration here uses.
	coredns = &module{
		dir:     "coredns",
		require: "github.com/coredns/coredns",
		ldflags: stripped,
		gib:     2,
		patched: true,
	}
	konnectivity = &module{
		dir:     "konnectivity",
		require: "sigs.k8s.io/apiserver-network-proxy",
		ldflags: stripped,
		gib:     2,
	}
	// flannel is built without its backend in C.
	flannel = &module{
		dir:     "flannel",
		require: "github.com/flannel-io/flannel",
		ldflags: versionIn("github.com/flannel-io/flannel/pkg/version.Version"),
		gib:     2,
		patched: true,
	}
	helm = &module{
		dir:     "helm",
		require: "helm.sh/helm/v4",
		ldflags: versionIn("helm.sh/helm/v4/internal/version.version"),
		gib:     2,
	}
	cloudControllerManager = &module{
		dir:     "cloud-controller-manager",
		require: "k8s.io/cloud-provider-aws",
		ldflags: stripped,
		gib:     3,
	}
	metricsServer = &module{
		dir:     "metrics-server",
		require: "sigs.k8s.io/metrics-server",
		ldflags: stripped,
		gib:     3,
	}
	// externalDNS: its go.mod names the modules that the proxy does not serve. Its patch leaves out the providers of other clouds, which
	// take most of the time of a build.
	externalDNS = &module{
		dir:     "external-dns",
		require: "sigs.k8s.io/external-dns",
		ldflags: versionIn("sigs.k8s.io/external-dns/pkg/apis/externaldns.Version"),
		gib:     3,
		patched: true,
	}
	clusterAPI = &module{
		dir:     "cluster-api",
		require: "sigs.k8s.io/cluster-api",
		ldflags: versionIn("sigs.k8s.io/cluster-api/version.gitVersion"),
		gib:     2,
	}
	clusterAPIProviderAWS = &module{
		dir:     "cluster-api-provider-aws",
		require: "sigs.k8s.io/cluster-api-provider-aws/v2",
		ldflags: versionIn("sigs.k8s.io/cluster-api-provider-aws/v2/version.gitVersion"),
		gib:     3,
	}
	karpenter = &module{
		dir:     "karpenter",
		require: "github.com/aws/karpenter-provider-aws",
		ldflags: versionIn("sigs.k8s.io/karpenter/pkg/operator.Version"),
		gib:     4,
	}
	// cyclonus tests NetworkPolicies from pods that run agnhost. agnhost has its own module, so that its dependencies
	// do not cause builds of the servers.
	cyclonus = &module{
		dir:     "cyclonus",
		require: "github.com/mattfenwick/cyclonus",
		ldflags: stripped,
		gib:     1,
	}
	agnhost = &module{
		dir:     "agnhost",
		require: "k8s.io/kubernetes",
		ldflags: kubernetesVersion,
		gib:     3,
	}
	// conformance is the end-to-end test of Kubernetes with the programs of its images. Its dependencies must not cause builds of the
	// servers.
	conformance = &module{
		dir:     "conformance",
		require: "k8s.io/kubernetes",
		ldflags: kubernetesVersion,
		gib:     6,
	}
	// traefik is built without the clients of DNS providers that its library for ACME has.
	traefik = &module{
		dir:     "traefik",
		require: "github.com/traefik/traefik/v3",
		ldflags: versionIn("github.com/traefik/traefik/v3/pkg/version.Version"),
		gib:     3,
		patched: true,
		patches: "github.com/go-acme/lego/v5",
	}
	// imageRegistry is built without the drivers for other clouds.
	imageRegistry = &module{
		dir:     "image-registry",
		require: "github.com/distribution/distribution/v3",
		ldflags: versionIn("github.com/distribution/distribution/v3/version.version"),
		gib:     3,
	}
	// kwok pretends to be the kubelets of a large cluster in a benchmark.
	kwok = &module{
		dir:     "kwok",
		require: "sigs.k8s.io/kwok",
		ldflags: stripped,
		gib:     2,
	}
	conformanceBefore = &module{
		dir:     "conformance-1.36",
		require: "k8s.io/kubernetes",
		ldflags: kubernetesVersion,
		gib:     6,
	}
	// ko, syft and cosign make releases: see hack/release.
	ko = &module{
		dir:     "ko",
		require: "github.com/google/ko",
		ldflags: versionIn("github.com/google/ko/pkg/commands.Version"),
		gib:     2,
	}
	// syft: later versions require versions of modules that the proxy does not serve.
	syft = &module{
		dir:     "syft",
		require: "github.com/anchore/syft",
		ldflags: versionIn("main.version"),
		gib:     4,
	}
	cosign = &module{
		dir:     "cosign",
		require: "github.com/sigstore/cosign/v3",
		ldflags: versionIn("sigs.k8s.io/release-utils/version.gitVersion"),
		gib:     4,
	}
	// rootCAs prints the CA certificates of operator images.
	rootCAs = &module{
		dir:     "root-cas",
		require: "golang.org/x/crypto/x509roots/fallback",
		ldflags: stripped,
		gib:     1,
	}
	// golangciLint is built with the linters that .golangci.yml enables.
	golangciLint = &module{
		dir:     "golangci-lint",
		require: "github.com/golangci/golangci-lint/v2",
		ldflags: versionIn("main.version"),
		gib:     2,
		patched: true,
	}

	table = []binary{
		{name: "etcd", module: etcd, pkg: "go.etcd.io/etcd/server/v3", seconds: 25},
		{name: "etcdctl", module: etcd, pkg: "go.etcd.io/etcd/etcdctl/v3", seconds: 5},
		{name: "etcdutl", module: etcd, pkg: "go.etcd.io/etcd/etcdutl/v3", seconds: 3},
		{name: "kube-apiserver", module: kubernetes, pkg: "k8s.io/kubernetes/cmd/kube-apiserver", seconds: 260},
		{name: "kube-controller-manager", module: kubernetes, pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", seconds: 60},
		{name: "kube-scheduler", module: kubernetes, pkg: "k8s.io/kubernetes/cmd/kube-scheduler", seconds: 10},
		{name: "kubelet", module: kubernetes, pkg: "k8s.io/kubernetes/cmd/kubelet", seconds: 25},
		{name: "kube-proxy", module: kubernetes, pkg: "k8s.io/kubernetes/cmd/kube-proxy", seconds: 4},
		{name: "kubectl", module: kubernetes, pkg: "k8s.io/kubernetes/cmd/kubectl", seconds: 6},
		{name: "kube-apiserver-1.36.3", file: "kube-apiserver", module: kubernetesBefore, pkg: "k8s.io/kubernetes/cmd/kube-apiserver", seconds: 200},
		{name: "kube-controller-manager-1.36.3", file: "kube-controller-manager", module: kubernetesBefore, pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", seconds: 40},
		{name: "kube-scheduler-1.36.3", file: "kube-scheduler", module: kubernetesBefore, pkg: "k8s.io/kubernetes/cmd/kube-scheduler", seconds: 10},
		{name: "kube-proxy-1.36.3", file: "kube-proxy", module: kubernetesBefore, pkg: "k8s.io/kubernetes/cmd/kube-proxy", seconds: 4},
		{name: "kubelet-1.36.3", file: "kubelet", module: kubeletBefore, pkg: "k8s.io/kubernetes/cmd/kubelet", seconds: 25},
		{name: "kubelet-1.35.4", file: "kubelet", module: kubeletOldest, pkg: "k8s.io/kubernetes/cmd/kubelet", seconds: 165},
		{name: "containerd", module: containerd, pkg: "github.com/containerd/containerd/v2/cmd/containerd", seconds: 20},
		{name: "containerd-shim-runc-v2", module: containerd, pkg: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", seconds: 8},
		{name: "ctr", module: containerd, pkg: "github.com/containerd/containerd/v2/cmd/ctr", seconds: 3},
		{name: "runc", module: runc, pkg: "github.com/opencontainers/runc", seconds: 10},
		{name: "bridge", module: cni, pkg: "github.com/containernetworking/plugins/plugins/main/bridge", seconds: 2},
		{name: "host-local", module: cni, pkg: "github.com/containernetworking/plugins/plugins/ipam/host-local", seconds: 1},
		{name: "loopback", module: cni, pkg: "github.com/containernetworking/plugins/plugins/main/loopback", seconds: 1},
		{name: "portmap", module: cni, pkg: "github.com/containernetworking/plugins/plugins/meta/portmap", seconds: 1},
		{name: "ignition", module: ignition, pkg: "github.com/coreos/ignition/v2/internal", seconds: 70},
		{name: "coredns", module: coredns, pkg: "github.com/coredns/coredns", seconds: 45},
		{name: "proxy-server", module: konnectivity, pkg: "sigs.k8s.io/apiserver-network-proxy/cmd/server", seconds: 35},
		{name: "proxy-agent", module: konnectivity, pkg: "sigs.k8s.io/apiserver-network-proxy/cmd/agent", seconds: 3},
		{name: "flanneld", module: flannel, pkg: "github.com/flannel-io/flannel", seconds: 18},
		{name: "helm", module: helm, pkg: "helm.sh/helm/v4/cmd/helm", seconds: 45},
		{name: "aws-cloud-controller-manager", module: cloudControllerManager, pkg: "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager", seconds: 150},
		{name: "ecr-credential-provider", module: cloudControllerManager, pkg: "k8s.io/cloud-provider-aws/cmd/ecr-credential-provider", seconds: 5},
		{name: "metrics-server", module: metricsServer, pkg: "sigs.k8s.io/metrics-server/cmd/metrics-server", seconds: 80},
		{name: "traefik", module: traefik, pkg: "github.com/traefik/traefik/v3/cmd/traefik", seconds: 120},
		{name: "image-registry", module: imageRegistry, pkg: "image-registry", seconds: 60},
		{name: "external-dns", module: externalDNS, pkg: "sigs.k8s.io/external-dns", seconds: 200},
		{name: "cluster-api-manager", module: clusterAPI, pkg: "sigs.k8s.io/cluster-api", seconds: 60},
		{name: "cluster-api-provider-aws-manager", module: clusterAPIProviderAWS, pkg: "sigs.k8s.io/cluster-api-provider-aws/v2", seconds: 105},
		{name: "karpenter", module: karpenter, pkg: "github.com/aws/karpenter-provider-aws/cmd/controller", seconds: 360},
		{name: "cyclonus", module: cyclonus, pkg: "github.com/mattfenwick/cyclonus/cmd/cyclonus", seconds: 60},
		{name: "kwok", module: kwok, pkg: "sigs.k8s.io/kwok/cmd/kwok", seconds: 20},
		{name: "agnhost", module: agnhost, pkg: "k8s.io/kubernetes/test/images/agnhost", seconds: 120},
		// A pattern without a slash matches none of these.
		{name: "conformance/e2e.test", file: "e2e.test", module: conformance, pkg: "k8s.io/kubernetes/test/e2e", seconds: 420, test: true},
		{name: "conformance/ginkgo", file: "ginkgo", module: conformance, pkg: "github.com/onsi/ginkgo/v2/ginkgo", seconds: 60},
		{name: "conformance/sample-apiserver", file: "sample-apiserver", module: conformance, pkg: "k8s.io/sample-apiserver", seconds: 60},
		{name: "conformance/nonewprivs", file: "nonewprivs", module: conformance, pkg: "k8s.io/kubernetes/test/images/nonewprivs", seconds: 60},
		{name: "conformance-1.36.3/e2e.test", file: "e2e.test", module: conformanceBefore, pkg: "k8s.io/kubernetes/test/e2e", seconds: 420, test: true},
		{name: "conformance-1.36.3/ginkgo", file: "ginkgo", module: conformanceBefore, pkg: "github.com/onsi/ginkgo/v2/ginkgo", seconds: 60},
		{name: "conformance-1.36.3/sample-apiserver", file: "sample-apiserver", module: conformanceBefore, pkg: "k8s.io/sample-apiserver", seconds: 60},
		{name: "conformance-1.36.3/nonewprivs", file: "nonewprivs", module: conformanceBefore, pkg: "k8s.io/kubernetes/test/images/nonewprivs", seconds: 60},
		{name: "conformance-1.36.3/agnhost", file: "agnhost", module: conformanceBefore, pkg: "k8s.io/kubernetes/test/images/agnhost", seconds: 60},
		{name: "conformance-1.36.3/kubectl", file: "kubectl", module: conformanceBefore, pkg: "k8s.io/kubernetes/cmd/kubectl", seconds: 60},
		{name: "ko", module: ko, pkg: "github.com/google/ko", seconds: 180},
		{name: "syft", module: syft, pkg: "github.com/anchore/syft/cmd/syft", seconds: 360},
		{name: "cosign", module: cosign, pkg: "github.com/sigstore/cosign/v3/cmd/cosign", seconds: 360},
		{name: "root-cas", module: rootCAs, pkg: "root-cas", seconds: 60},
		{name: "golangci-lint", module: golangciLint, pkg: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint", seconds: 240},
	}
)

// stripped is for programs that contain their version, or need none.
func stripped(string) string { return "-s -w" }

// versionIn sets the variable that contains the version of a program.
func versionIn(variable string) func(string) string {
	return func(version string) string { return "-s -w -X " + variable + "=" + version }
}

// kubernetesVersion sets the version of the servers. Without it they report 0.0.0, which clients with a minimum version
// reject.
func kubernetesVersion(version string) string {
	const at = "k8s.io/component-base/version."
	number := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s -X %[1]sgitTreeState=clean",
		at, version, number[0], number[1])
}

// Names lists every binary that Ensure can build, in a useful order of builds.
func Names() []string { return names(table) }

func names(table []binary) []string {
	var all []string
	for _, b := range table {
		all = append(all, b.name)
	}
	return all
}

func find(table []binary, name string) (binary, error) {
	i := slices.IndexFunc(table, func(b binary) bool { return b.name == name })
	if i < 0 {
		return binary{}, fmt.Errorf("no binary named %q; there are %s", name, strings.Join(names(table), ", "))
	}
	return table[i], nil
}

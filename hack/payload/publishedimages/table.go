package publishedimages

import (
	"slices"

	"github.com/hosted-control-planes/hypershift/hack/payload/versions"
)

// The lists of architectures.
var (
	two     = []string{"amd64", "arm64"}
	servers = []string{"amd64", "arm64", "ppc64le", "s390x"}
	five    = []string{"amd64", "arm", "arm64", "ppc64le", "s390x"}
)

// OperatorImage is the image of the operators and of the auxiliary programs of control planes.
const OperatorImage = "control-plane-operator"

// ExternalDNS is the image of the chart that creates public DNS records.
const ExternalDNS = "external-dns"

// Reasons why a file does not belong to the version in the release.
const (
	notStored = "read in the repository at another commit: the module proxy does not serve the version"
	floating  = "the tag of the release moves"
)

// Table is the table, in the order of names.
var Table = slices.Concat([]Image{
	{
		// The official releases are built by cloudbuild.yaml with buildx, not with ko, which the Makefile also offers.
		Name: "aws-cloud-controller-manager", Base: goRunner,
		Programs:   []Program{{Path: "/bin/aws-cloud-controller-manager"}},
		Entrypoint: []string{"/bin/aws-cloud-controller-manager"}, Architectures: two, Index: OCIIndex,
		Sources: []Source{
			{gitHub + "kubernetes/cloud-provider-aws/blob/v1.37.1/Dockerfile", "1.37.1"},
			{gitHub + "kubernetes/cloud-provider-aws/blob/v1.37.1/cloudbuild.yaml", "1.37.1"},
		},
		Differs: "read at the version that the lab runs with all payloads",
	},
	{
		Name: "aws-ebs-csi-driver", Base: eksMinimalEBS,
		Programs: []Program{{Path: "/bin/aws-ebs-csi-driver", WriteFlags: []string{"--endpoint"}}}, Entrypoint: []string{"/bin/aws-ebs-csi-driver"},
		Architectures: two, Index: OCIIndex,
		Sources: []Source{{gitHub + "kubernetes-sigs/aws-ebs-csi-driver/blob/0163e7b86ac85a19e3f5f0e4fcae2612aa2f4d84/Dockerfile", "0163e7b8"}},
		Differs: notStored,
	},
	{
		// The program reads its key from the arguments only: a pod without a command would pass them to the runner.
		Name: "aws-kms-provider", Base: goRunner,
		Programs:   []Program{{Path: "/aws-encryption-provider", WriteFlags: []string{"--listen"}}},
		Entrypoint: []string{"/go-runner"}, Command: []string{"/aws-encryption-provider"}, Architectures: two, Index: OCIIndex,
		Sources: []Source{{gitHub + "kubernetes-sigs/aws-encryption-provider/blob/0268340d921c311641c7bbeef1b3ea01e32589db/Dockerfile", "0268340d"}},
		Differs: "no release has it; a user adds it",
	},
	{
		Name: "cluster-api", Base: distrolessNonroot,
		Programs: []Program{{Path: "/manager"}}, Entrypoint: []string{"/manager"}, User: "65532", WorkingDir: "/", Architectures: five, Index: DockerManifestList,
		Sources: []Source{
			{gitHub + "kubernetes-sigs/cluster-api/blob/v1.13.6/Dockerfile", "1.13.6"},
			{gitHub + "kubernetes-sigs/cluster-api/blob/v1.13.6/Makefile", "1.13.6"},
		},
	},
	{
		Name: "cluster-api-provider-aws", Base: distrolessNonroot,
		Programs: []Program{{Path: "/manager"}}, Entrypoint: []string{"/manager"}, User: "65532", WorkingDir: "/", Architectures: five, Index: DockerManifestList,
		Sources: []Source{
			{gitHub + "kubernetes-sigs/cluster-api-provider-aws/blob/v2.13.0/Dockerfile", "2.13.0"},
			{gitHub + "kubernetes-sigs/cluster-api-provider-aws/blob/v2.13.0/Makefile", "2.13.0"},
		},
	},
	{
		// The image sets a command and no entrypoint: a pod with arguments and without a command would run the first argument.
		Name: "cluster-autoscaler", Base: distrolessNonroot,
		Programs: []Program{{Path: "/cluster-autoscaler"}}, Command: []string{"/cluster-autoscaler"}, WorkingDir: "/", Architectures: two, Index: DockerManifestList,
		Labels:  map[string]string{"maintainer": "Marcin Wielgus <mwielgus@google.com>"},
		Sources: []Source{{gitHub + "kubernetes/autoscaler/blob/26388ddbddbe63f8444c74724ee178b8306e1dfb/cluster-autoscaler/Dockerfile.amd64", "26388ddb"}},
		Differs: notStored,
	},
	{
		// Dockerfile, and hack/release for releases, where the files in /usr/bin are links.
		Name: OperatorImage, Base: scratch, User: "65532:65532", Entrypoint: []string{"/usr/bin/hypershift-operator"},
		Programs: []Program{
			{Path: "/usr/bin/hypershift-operator"}, {Path: "/usr/bin/control-plane-operator"},
			{Path: "/usr/bin/sidecar", WriteFlags: []string{"--token-file", "--dir", "--install"}},
			{Path: "/usr/bin/console"},
		},
		Architectures: two, Index: OCIIndex,
		Sources: []Source{{"Dockerfile", ""}, {"hack/release/image.go", ""}},
	},
	{
		Name: "coredns", Base: distrolessNonroot,
		Programs:   []Program{{Path: "/coredns", Capabilities: []Capability{NetBindService}}},
		Entrypoint: []string{"/coredns"}, User: "65532:65532", WorkingDir: "/", Index: DockerManifestList,
		Architectures: []string{"amd64", "arm", "arm64", "loong64", "ppc64le", "riscv64", "s390x"},
		Sources: []Source{
			{gitHub + "coredns/coredns/blob/v1.14.7/Dockerfile", "1.14.7"},
			{gitHub + "coredns/coredns/blob/v1.14.7/Makefile.docker", "1.14.7"},
		},
	},
	{
		Name: "etcd", Base: distrolessRoot, WorkingDir: "/var/lib/etcd", Command: []string{"/usr/local/bin/etcd"},
		Programs:      []Program{{Path: "/usr/local/bin/etcd", Writes: []string{"/var/lib/etcd"}}, {Path: "/usr/local/bin/etcdctl"}, {Path: "/usr/local/bin/etcdutl"}},
		Architectures: servers, Index: DockerManifestList,
		Sources: []Source{
			{gitHub + "etcd-io/etcd/blob/v3.6.8/Dockerfile", "3.6.8"},
			{gitHub + "etcd-io/etcd/blob/v3.6.8/scripts/release.sh", "3.6.8"},
			// Since 3.6.5 the image of Kubernetes is etcd's image: without a shell and with etcdutl.
			{gitHub + "etcd-io/etcd/issues/19798", "2025-11-24"},
		},
		Differs: "read in the repository at a release of the minor version before",
	},
	{
		// ko takes the user of the base.
		Name: ExternalDNS, Base: distrolessRoot,
		Programs: []Program{{Path: "/ko-app/external-dns"}}, Entrypoint: []string{"/ko-app/external-dns"},
		Env:           map[string]string{"PATH": DefaultPath + ":/ko-app", "KO_DATA_PATH": "/var/run/ko"},
		Labels:        map[string]string{"org.opencontainers.image.source": "https://github.com/kubernetes-sigs/external-dns"},
		Architectures: []string{"amd64", "arm", "arm64"}, Index: OCIIndex,
		Sources: []Source{
			{gitHub + "kubernetes-sigs/external-dns/blob/v0.23.0/.ko.yaml", "0.23.0"},
			{gitHub + "kubernetes-sigs/external-dns/blob/v0.23.0/Makefile", "0.23.0"},
			{gitHub + "ko-build/ko/blob/v0.19.1/pkg/build/gobuild.go", "0.19.1"},
		},
	},
	{
		Name: "flannel", Base: alpine,
		Programs: append([]Program{
			{Path: "/opt/bin/flanneld", Writes: []string{"/run/flannel"}}, {Path: "/opt/bin/install-conf"}, {Path: "/opt/bin/mk-docker-opts.sh"},
		}, firewall...),
		Entrypoint: []string{"/opt/bin/flanneld"}, Index: OCIIndex,
		Architectures: []string{"amd64", "arm", "arm64", "ppc64le", "riscv64", "s390x"},
		Sources: []Source{
			{gitHub + "flannel-io/flannel/blob/v0.28.10/images/Dockerfile", "0.28.10"},
			{gitHub + "flannel-io/flannel/blob/v0.28.10/.github/workflows/release.yaml", "0.28.10"},
		},
	},
	{
		// Its user is a name, which the kubelet cannot compare with runAsNonRoot: a pod must set a number.
		Name: "haproxy", Base: debianSlim, User: "haproxy", WorkingDir: "/var/lib/haproxy",
		Users:      []User{{"haproxy", 99, "/var/lib/haproxy"}},
		Programs:   []Program{{Path: "/usr/local/sbin/haproxy", WriteFlags: []string{"-S"}}, {Path: "/usr/local/bin/docker-entrypoint.sh", Runner: true}},
		Entrypoint: []string{"docker-entrypoint.sh"}, Command: []string{"haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"},
		Architectures: []string{"386", "amd64", "arm", "arm64", "ppc64le", "riscv64", "s390x"}, Index: OCIIndex,
		Sources: []Source{
			{gitHub + "docker-library/haproxy/blob/04b2168ff76f90727c02f01cb719f655e768f6fd/3.2/Dockerfile", "3.2.6"},
		},
		Differs: floating,
	},
	{
		Name: "image-registry", Base: alpine, WorkingDir: "/",
		Programs:   []Program{{Path: "/bin/registry"}, {Path: "/entrypoint.sh", Runner: true}},
		Entrypoint: []string{"/entrypoint.sh"}, Command: []string{"/etc/distribution/config.yml"},
		Architectures: []string{"amd64", "arm", "arm64", "ppc64le", "riscv64", "s390x"}, Index: OCIIndex,
		Sources: []Source{{gitHub + "distribution/distribution-library-image/blob/057436d4dd745cfb1f913e0fdae56e304bcb160c/Dockerfile", "2.8.0-beta.1"}},
		Differs: "read in the repository at an earlier release; the paths of its configuration are those of 3.0",
	},
	{
		Name: "karpenter", Base: eksMinimal,
		Programs: []Program{{Path: "/ko-app/controller"}}, Entrypoint: []string{"/ko-app/controller"},
		Env:           map[string]string{"PATH": DefaultPath + ":/ko-app", "KO_DATA_PATH": "/var/run/ko"},
		Architectures: two, Index: OCIIndex,
		Sources: []Source{
			{gitHub + "aws/karpenter-provider-aws/blob/v1.15.1/.ko.yaml", "1.15.1"},
			{gitHub + "aws/karpenter-provider-aws/blob/v1.15.1/hack/release/common.sh", "1.15.1"},
			{gitHub + "ko-build/ko/blob/v0.19.1/pkg/build/gobuild.go", "0.19.1"},
		},
	},
	{
		Name: "metrics-server", Base: distrolessRoot, User: "65534",
		Programs: []Program{{Path: "/metrics-server", WriteFlags: []string{"--cert-dir"}}}, Entrypoint: []string{"/metrics-server"},
		Architectures: five, Index: DockerManifestList,
		Sources: []Source{
			{gitHub + "kubernetes-sigs/metrics-server/blob/v0.9.0/Dockerfile", "0.9.0"},
			{gitHub + "kubernetes-sigs/metrics-server/blob/v0.9.0/Makefile", "0.9.0"},
		},
	},
	{
		// This project's build file. Machines copy the files; no container runs them.
		Name: "node-programs", Base: scratch, Architectures: two, Index: OCIIndex,
		Sources: []Source{{"hack/payload/node-programs.Dockerfile", ""}},
		Programs: []Program{
			{Path: "/usr/local/bin/kubelet"}, {Path: "/usr/local/bin/containerd"}, {Path: "/usr/local/bin/containerd-shim-runc-v2"},
			{Path: "/usr/local/bin/ctr"}, {Path: "/usr/local/bin/runc"}, {Path: "/opt/cni/bin/bridge"}, {Path: "/opt/cni/bin/host-local"},
			{Path: "/opt/cni/bin/loopback"}, {Path: "/opt/cni/bin/portmap"},
		},
	},
	{
		Name: "pause", Base: scratch, User: "65535:65535",
		Programs: []Program{{Path: "/pause"}}, Entrypoint: []string{"/pause"}, Architectures: five, Index: DockerManifestList,
		Sources: []Source{
			{gitHub + "kubernetes/kubernetes/blob/v1.36.3/build/pause/Dockerfile", "3.10.2"},
			{gitHub + "kubernetes/kubernetes/blob/v1.36.3/build/pause/Makefile", "3.10.2"},
		},
	},
	{
		Name: "pod-identity-webhook", Base: scratch,
		Programs: []Program{{Path: "/webhook"}}, Entrypoint: []string{"/webhook"}, Command: []string{"--logtostderr"},
		Architectures: two, Index: DockerManifestList,
		Sources: []Source{
			{gitHub + "aws/amazon-eks-pod-identity-webhook/blob/c1fc3584b0557492b2b040d5e4f26ec565dc1847/Dockerfile", "c1fc3584"},
			{gitHub + "aws/amazon-eks-pod-identity-webhook/blob/c85bd2008b20faec9424bfbd03aa2bc0d093aca0/.github/workflows/publish_ecr.yaml", "c85bd200"},
		},
		Differs: notStored,
	},
	{
		Name: "traefik", Base: alpine, WorkingDir: "/",
		Programs:   []Program{{Path: "/usr/local/bin/traefik"}, {Path: "/entrypoint.sh", Runner: true}},
		Entrypoint: []string{"/entrypoint.sh"}, Command: []string{"traefik"},
		Labels: map[string]string{
			"org.opencontainers.image.vendor": "Traefik Labs", "org.opencontainers.image.url": "https://traefik.io",
			"org.opencontainers.image.source": "https://github.com/traefik/traefik", "org.opencontainers.image.title": "Traefik",
			"org.opencontainers.image.description": "A modern reverse-proxy", "org.opencontainers.image.documentation": "https://docs.traefik.io",
		},
		Architectures: []string{"amd64", "arm", "arm64", "ppc64le", "riscv64", "s390x"}, Index: OCIIndex,
		Sources: []Source{{gitHub + "traefik/traefik-library-image/blob/69791a7090b90c11b8be885c52ed8f138209cd60/v3.7/alpine/Dockerfile", "3.7.0-ea.1"}},
		Differs: "read in the repository at an earlier release of the same minor version",
	},
}, konnectivity, sidecars, kubernetes())

// konnectivity are the images of apiserver-network-proxy.
var konnectivity = func() []Image {
	var all []Image
	for _, role := range []string{"agent", "server"} {
		program := "proxy-" + role
		all = append(all, Image{
			Name: "konnectivity-" + role, Base: distrolessNonroot, WorkingDir: "/",
			Programs: []Program{{Path: "/" + program, WriteFlags: []string{"--uds-name"}}}, Entrypoint: []string{"/" + program},
			Architectures: five, Index: DockerManifestList,
			Sources: []Source{
				{gitHub + "kubernetes-sigs/apiserver-network-proxy/blob/v0.36.0/artifacts/images/" + role + "-build.Dockerfile", "0.36.0"},
				{gitHub + "kubernetes-sigs/apiserver-network-proxy/blob/v0.36.0/Makefile", "0.36.0"},
			},
		})
	}
	return all
}()

// sidecars are the images of kubernetes-csi, which have one build file each, and release tools in common.
var sidecars = func() []Image {
	var all []Image
	for _, s := range []struct {
		name, program, description, repository, path, commit, version string
		writes                                                        []string
	}{
		{"csi-external-attacher", "csi-attacher", "CSI External Attacher", "external-attacher", "Dockerfile", "0dda3245ed155cd831877e1918b6318497b0c8be", "", nil},
		{"csi-external-provisioner", "csi-provisioner", "CSI External Provisioner", "external-provisioner", "Dockerfile", "v5.3.0", "5.3.0", nil},
		{"csi-external-resizer", "csi-resizer", "CSI External Resizer", "external-resizer", "Dockerfile", "v1.14.0", "1.14.0", nil},
		{"csi-external-snapshotter", "csi-snapshotter", "CSI External Snapshotter Sidecar", "external-snapshotter", "cmd/csi-snapshotter/Dockerfile", "8e680b17bca6d41c41935aeaf0b74e8cf4a4304a", "", nil},
		{"csi-livenessprobe", "livenessprobe", "CSI Driver liveness probe", "livenessprobe", "Dockerfile", "e66270d5040b451db4c739754a72e38416b7a4ea", "", nil},
		// It creates the socket that the kubelet finds.
		{"csi-node-driver-registrar", "csi-node-driver-registrar", "CSI Node driver registrar", "node-driver-registrar", "Dockerfile", "cae4fbec4fd7e6f8a174a5c6091be01bd1743c9c", "", []string{"/registration"}},
	} {
		read, differs := s.version, ""
		if read == "" {
			read, differs = s.commit[:8], notStored
		}
		if s.name == "csi-external-snapshotter" {
			differs = "no release has it; a user adds it"
		}
		all = append(all, Image{
			Name: s.name, Base: distrolessRoot,
			Programs: []Program{{Path: "/" + s.program, Writes: s.writes}}, Entrypoint: []string{"/" + s.program},
			Labels:        map[string]string{"maintainers": "Kubernetes Authors", "description": s.description},
			Architectures: five, Index: OCIIndex,
			Sources: []Source{
				{gitHub + "kubernetes-csi/" + s.repository + "/blob/" + s.commit + "/" + s.path, read},
				{gitHub + "kubernetes-csi/external-provisioner/blob/v5.3.0/release-tools/prow.sh", "5.3.0"},
			},
			Differs: differs,
		})
	}
	return all
}()

// kubernetes are the images of each version of Kubernetes. Only kube-apiserver carries a file capability, so that it can listen on a port
// below 1024 as another user than root: Linux does not start it in a container that cannot have the capability
// (https://github.com/kubernetes/kubernetes/issues/100914).
func kubernetes() []Image {
	var all []Image
	for _, version := range versions.Kubernetes {
		from := gitHub + "kubernetes/kubernetes/blob/v" + version + "/build/"
		for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"} {
			i := Image{
				Name: name, Kubernetes: version, Base: goRunner,
				Programs: []Program{{Path: "/usr/local/bin/" + name}}, Entrypoint: []string{"/go-runner"}, Architectures: servers, Index: DockerManifestList,
				Sources: []Source{{from + "server-image/Dockerfile", version}, {from + "common.sh", version}},
			}
			switch name {
			case "kube-apiserver":
				i.Programs[0].Capabilities = []Capability{NetBindService}
				i.Sources[0].URL = from + "server-image/kube-apiserver/Dockerfile"
			case "kube-proxy":
				i.Base = distrolessIptables
			}
			all = append(all, i)
		}
	}
	return all
}

package images

import (
	"maps"
	"path"
	"slices"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/payload/publishedimages"
	"github.com/hosted-control-planes/hypershift/hack/payload/versions"
	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Versions are the versions of the releases in a lab, the newest first. They are the versions of the released payloads.
var Versions = versions.Kubernetes

// OldestNodes is a version of which there are only the programs of nodes, on request: a kubelet may be three minor versions older than its API
// server.
const OldestNodes = "1.35.4"

// table lists all images. The configuration of a published image comes from the table of published images.
func table() []image {
	images := []image{
		{name: "pause", more: pause, entrypoint: []string{"/pause", "-P"}},
		{name: "coredns", programs: []at{{"coredns", "/coredns"}}},
		{name: Operator, apart: true, like: publishedimages.OperatorImage, more: ourOperators},
		{name: "busybox", apart: true, more: busybox, trusts: true},
		// Like the upstream image, without the parts that only tests of the kubelet need.
		{name: Agnhost, apart: true, onRequest: true, trusts: true, programs: []at{{"agnhost", "/agnhost"}}, entrypoint: []string{"/agnhost"}},
		{name: ExternalDNS, apart: true, like: publishedimages.ExternalDNS, onRequest: true, programs: []at{{"external-dns", "/ko-app/external-dns"}}},
		{name: Prometheus, apart: true, onRequest: true, more: prometheus, entrypoint: []string{"/bin/prometheus"}, user: "65534:65534"},
		{name: "etcd", programs: []at{
			{"etcd", "/usr/local/bin/etcd"}, {"etcdctl", "/usr/local/bin/etcdctl"}, {"etcdutl", "/usr/local/bin/etcdutl"},
		}},
		{name: "flannel", more: podNetwork, programs: []at{{"flanneld", "/opt/bin/flanneld"}}, beside: merge(firewallBeside, map[string]string{
			"/bin/busybox": "the links of a shell and of its commands lead to it, as in the published image",
		})},
		{name: "haproxy", more: proxy},
		{name: "konnectivity-server", programs: []at{{"proxy-server", "/proxy-server"}}},
		{name: "konnectivity-agent", programs: []at{{"proxy-agent", "/proxy-agent"}}},
		{name: "metrics-server", programs: []at{{"metrics-server", "/metrics-server"}}},
		{name: "aws-cloud-controller-manager", programs: []at{{"aws-cloud-controller-manager", "/bin/aws-cloud-controller-manager"}}},
		{name: Karpenter, onRequest: true, programs: []at{{"karpenter", "/ko-app/controller"}}},
		{name: Traefik, onRequest: true, programs: []at{{"traefik", "/usr/local/bin/traefik"}}, beside: map[string]string{
			"/entrypoint.sh": "it finds out by its arguments what it runs, and pods name the program",
		}},
		{name: ImageRegistry, onRequest: true, trusts: true, more: alpine, programs: []at{{"image-registry", "/bin/registry"}}, beside: map[string]string{
			"/bin/busybox": "the links of a shell and of its commands lead to it, as in the published image", "/entrypoint.sh": "pods name the program",
		}},
		{name: "cluster-api", programs: []at{{"cluster-api-manager", "/manager"}}},
		{name: "cluster-api-provider-aws", programs: []at{{"cluster-api-provider-aws-manager", "/manager"}}},
	}
	nodes := func(version string) image {
		return image{
			name: names.NodePrograms, version: version, onRequest: version == OldestNodes, programs: nodePrograms(version),
			beside: map[string]string{"/usr/local/bin/ecr-credential-provider": "AWS' machine images have it: docs/node-images.md"},
		}
	}
	for _, version := range Versions {
		for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			images = append(images, image{name: name, version: version, programs: kubernetes(name, version)})
		}
		images = append(images, image{name: "kube-proxy", version: version, more: firewall, programs: kubernetes("kube-proxy", version), beside: firewallBeside})
		images = append(images, nodes(version))
	}
	images = append(images, nodes(OldestNodes))
	for n := range images {
		if i := &images[n]; !i.apart {
			i.like = i.name
		}
	}
	return images
}

// Operator is the name of the image with the operators.
const Operator = "hypershift"

// Agnhost is the name of the image for tests of NetworkPolicies.
const Agnhost = "agnhost"

// ExternalDNS is the name of the image that creates public DNS records.
const ExternalDNS = "external-dns"

// Karpenter is the name of the image that creates nodes on demand. Its build takes longer than all other builds.
const Karpenter = "karpenter"

// Traefik is the name of the image of the ingress controller.
const Traefik = "traefik"

// ImageRegistry is the name of the image of the registry in hosted clusters.
const ImageRegistry = "image-registry"

// Prometheus is the name of the image of Prometheus, for tests of alerts.
const Prometheus = "prometheus"

// Key is the key in a Set of an image that differs between releases. Without a version it is the name.
func Key(name, version string) string {
	if version == "" {
		return name
	}
	return name + ":v" + version
}

// kubernetes is a server of one release.
func kubernetes(name, version string) []at {
	return []at{{versions.Program(name, version), "/usr/local/bin/" + name}}
}

// nodePrograms are the programs of a node, and the plugins of pod networks.
func nodePrograms(version string) []at {
	programs := kubernetes("kubelet", version)
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "ecr-credential-provider"} {
		programs = append(programs, at{name, "/usr/local/bin/" + name})
	}
	for _, name := range []string{"bridge", "host-local", "loopback", "portmap"} {
		programs = append(programs, at{name, "/opt/cni/bin/" + name})
	}
	return programs
}

// Binaries are the programs of hack/binaries in the images, for callers that build all of them in advance.
func Binaries() []string {
	var names []string
	for _, i := range table() {
		for _, program := range i.programs {
			names = append(names, program.name)
		}
	}
	return names
}

// pause is another program than upstream's, which is not written in Go. It also waits and reaps, and is as small.
var pause = fromDebian(map[string]string{"/usr/bin/catatonit": "/pause"}, nil)

// firewall contains the programs with which kube-proxy writes its rules. Without the names of protocols, iptables prints
// numbers; kube-proxy would not recognize its own rules after a restart, and delete them.
var firewall = fromDebian(firewallPrograms, firewallLinks)

var firewallPrograms = map[string]string{
	"/usr/sbin/nft":                           "",
	"/etc/protocols":                          "",
	"/usr/sbin/xtables-nft-multi":             "",
	"/usr/lib/*-linux-gnu*/xtables/libxt*.so": "",
	"/usr/lib/*-linux-gnu*/xtables/libip*.so": "",
}

var firewallLinks = links("/usr/sbin", "xtables-nft-multi",
	"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore")

// firewallBeside is the program of all variants of iptables. The published images have one for each table format, and a link that a wrapper
// replaces.
var firewallBeside = map[string]string{"/usr/sbin/xtables-nft-multi": "the links of iptables lead to it, as in the published image"}

// podNetwork contains the programs with which flannel writes its rules, and the shell of the upstream image.
var podNetwork = fromDebian(merge(firewallPrograms, shellPrograms), merge(firewallLinks, shellLinks))

// alpine contains the shell of images on the base Alpine, with the commands that scripts of pods run.
var alpine = fromDebian(shellPrograms, shellLinks)

var (
	shellPrograms = map[string]string{"/bin/busybox": "/bin/busybox"}
	shellLinks    = links("/bin", "busybox", "sh", "cat", "mv", "sleep")
)

// busybox contains the applets that tests and users of a shell need. Its own wget is a static program that resolves names,
// which crashes in a container; GNU's wget does not, and supports TLS.
var busybox = fromDebian(
	map[string]string{"/bin/busybox": "/bin/busybox", "/usr/bin/wget": ""},
	links("/bin", "busybox",
		"sh", "cat", "chmod", "cp", "cut", "date", "dd", "df", "du", "echo", "env", "false", "find", "free", "grep", "head", "hostname", "httpd",
		"id", "ip", "kill", "ln", "ls", "mkdir", "mount", "mv", "nc", "netstat", "nslookup", "ping", "ps", "pwd", "rm", "sed", "sleep", "sort",
		"stat", "tail", "tar", "tee", "test", "top", "touch", "tr", "true", "uname", "vi", "wc", "whoami", "xargs", "yes"),
)

// links are links in a directory to one file in it.
func links(dir, to string, names ...string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		all[path.Join(dir, name)] = to
	}
	return all
}

func merge(all ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, one := range all {
		maps.Copy(merged, one)
	}
	return merged
}

// ControlPlane returns the keys of the images that are needed first: the images of the operators and of control planes of a
// version, without the images that only nodes of a hosted cluster need.
func ControlPlane(version string) []string {
	keys := []string{"pause", "busybox", Operator, "haproxy"}
	for _, i := range table() {
		if slices.Contains(names.RequiredImages, i.name) && (i.version == "" || i.version == version) {
			keys = append(keys, i.key())
		}
	}
	return keys
}

// OfVersion returns the keys of the images that a release of this version needs, and of those that all releases share, without
// those that are pushed on request.
func OfVersion(version string) []string {
	var keys []string
	for _, i := range chosen(nil) {
		if i.version == "" || i.version == version {
			keys = append(keys, i.key())
		}
	}
	if version == OldestNodes {
		keys = append(keys, Key(names.NodePrograms, version))
	}
	return keys
}

// Built reports whether all programs of all images exist that are pushed without a request.
func Built() (bool, error) {
	for _, i := range chosen(nil) {
		for _, program := range i.programs {
			if built, err := pinned.Built(program.name); err != nil || !built {
				return false, err
			}
		}
	}
	return true, nil
}

// Programs returns the programs of images; without keys, of those that are pushed without a request.
func Programs(keys ...string) []string {
	var names []string
	for _, i := range chosen(keys) {
		for _, program := range i.programs {
			names = append(names, program.name)
		}
	}
	return names
}

// Steps returns the steps of Push that build the missing ones of these programs.
func Steps(keys ...string) ([]steps.Step, error) { return pinned.Missing(Programs(keys...)...) }

// chosen returns the images of these names or keys, or without names all images except those with onRequest.
func chosen(names []string) []image {
	return slices.DeleteFunc(table(), func(i image) bool {
		if len(names) == 0 {
			return i.onRequest
		}
		return !slices.Contains(names, i.name) && !slices.Contains(names, i.key())
	})
}
